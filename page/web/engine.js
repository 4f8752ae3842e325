"use strict";
// The library in WebAssembly, in this thread (`attnlabInstance`) or in a worker (`Engine`).

/** Makes an instance of the module: a function from a request to its value, which throws what the library refuses. */
function attnlabInstance(module, onProgress) {
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  let memory, defect;
  // Addresses are unsigned.
  const text = (address, length) => decoder.decode(new Uint8Array(memory.buffer, address >>> 0, length));
  const attnlab = {
    now: () => performance.now(),
    progress: onProgress,
    fault: (address, length) => (defect = text(address, length)),
  };
  const { exports } = new WebAssembly.Instance(module, { attnlab });
  memory = exports.memory;
  return (request) => {
    const bytes = encoder.encode(JSON.stringify(request));
    const address = exports.request(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
    let answer;
    try {
      answer = JSON.parse(text(exports.respond(), exports.length()));
    } catch (error) {
      const broken = new Error(`the library has stopped, which is a defect of attnlab: ${defect ?? error.message}`);
      broken.defect = true;
      throw broken;
    }
    if ("error" in answer) throw new Error(answer.error);
    return answer.value;
  };
}

/** The program of a worker: the first message is the module, every other one a request with its number. */
function attnlabWorker() {
  let call, number, told;
  const progress = (done, total) => {
    // A message every 50 ms is enough for a bar.
    if (performance.now() - told < 50 && done < total) return;
    told = performance.now();
    postMessage({ number, done, total });
  };
  onmessage = ({ data }) => {
    if (data instanceof WebAssembly.Module) {
      call = attnlabInstance(data, progress);
      return;
    }
    ({ number } = data);
    told = performance.now();
    try {
      postMessage({ number, value: call(data.request) });
    } catch (error) {
      postMessage({ number, error: error.message, defect: error.defect });
    }
  };
}

/** Unpacks the module from the text in which it comes. */
async function attnlabModule(base64) {
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** A worker with the library, which answers one request after another. */
class Engine {
  constructor(module) {
    this.module = module;
    this.waiting = new Map();
    this.count = 0;
  }

  /** Starts the worker, unless it runs. */
  async start() {
    const module = await this.module;
    if (this.worker) return this.worker;
    // A page that was opened as a file may start no worker from another file, but one from its own text.
    const source = `"use strict";${attnlabInstance};${attnlabWorker};attnlabWorker();`;
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data }) => this.take(data);
    this.worker.onerror = (event) => this.stop(event.message);
    this.worker.postMessage(module);
    return this.worker;
  }

  take({ number, done, total, value, error, defect }) {
    const { resolve, reject, progress } = this.waiting.get(number) ?? {};
    if (total !== undefined) return progress?.(done, total);
    this.waiting.delete(number);
    if (error === undefined) resolve?.(value);
    else reject?.(new Error(error));
    if (defect) this.stop(error);
  }

  /** Asks the library; `progress(done, total)` is told of long work. */
  async ask(request, progress) {
    let worker;
    // It may be stopped while this waits.
    do worker = await this.start();
    while (worker !== this.worker);
    const number = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, progress });
      worker.postMessage({ number, request });
    });
  }

  /** Ends all that is under way. The next request starts anew. */
  stop(reason) {
    this.worker?.terminate();
    this.worker = undefined;
    const error = Object.assign(new Error(reason), { stopped: true });
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/** Makes a function that asks for the latest settings only: while a request is under way, newer ones replace each other. */
function latest(work) {
  let busy = false;
  let next;
  return async function run(...settings) {
    next = settings;
    if (busy) return;
    busy = true;
    while (next) {
      const now = next;
      next = undefined;
      await work(...now);
    }
    busy = false;
  };
}
