//! Kernels, buffers, and the queue of their calls. Calls are submitted in portions of about a tenth of a
//! second, so that no driver's watchdog fires and progress is visible.

use super::device::{Gpu, unpoisoned};
use attnlab_core::error::{Error, Result};
use pulp::bytemuck;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// Distance of two sets of parameters, in bytes: an offset of uniforms that every adapter accepts.
const SLOT: usize = 256;

/// Largest number of calls in one submission.
const CALLS: usize = 2048;

/// Duration of one submission, in seconds. Watchdogs allow two or more; much shorter ones have visible
/// overhead.
const PORTION: f64 = 0.1;

/// Number of floating-point operations of the first submission, before the rate is known.
const FIRST: f64 = 2e9;

/// Number of submissions in flight: the next one is queued when one ends.
const FLYING: usize = 2;

/// Number of bytes in one copy.
const TRAVEL: usize = 32 << 20;

/// Parameters of a call: `Params` of common.wgsl, field by field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Params {
    pub a: usize,
    pub b: usize,
    pub c: usize,
    pub d: usize,
    pub depth: usize,
    pub rows: usize,
    pub side: usize,
    pub row0: usize,
    pub col0: usize,
    pub tokens: usize,
    pub padded: usize,
    pub own: (usize, usize),
    pub flags: u32,
    pub value: f32,
}

impl Params {
    fn words(&self) -> [u32; 15] {
        // Offsets count vectors or numbers within one binding, so they are below 2^32.
        let w = |x: usize| x as u32;
        [
            w(self.a),
            w(self.b),
            w(self.c),
            w(self.d),
            w(self.depth),
            w(self.rows),
            w(self.side),
            w(self.row0),
            w(self.col0),
            w(self.tokens),
            w(self.padded),
            w(self.own.0),
            w(self.own.1),
            self.flags,
            self.value.to_bits(),
        ]
    }
}

/// Flags of common.wgsl.
pub(super) mod flags {
    pub const SYMMETRIC: u32 = 1;
    pub const DIAGONAL: u32 = 2;
    pub const CAUSAL: u32 = 4;
}

/// Compiled entry point.
pub(super) struct Kernel {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

/// Access of a kernel to a buffer.
#[derive(Clone, Copy)]
pub(super) enum Access {
    Read,
    Write,
}

impl Gpu {
    /// Returns the kernel `entry` of `text`, written in this crate, and common.wgsl, compiled once; `name` identifies
    /// the text.
    pub(super) fn kernel(
        &self,
        name: &str,
        text: impl FnOnce() -> String,
        entry: &str,
        access: &[Access],
    ) -> Result<Arc<Kernel>> {
        self.compiled(name, text, entry, access, true)
    }

    /// Returns the [`kernel`](Gpu::kernel) of a text with parts that others have written.
    pub(super) fn foreign_kernel(
        &self,
        name: &str,
        text: impl FnOnce() -> String,
        entry: &str,
        access: &[Access],
    ) -> Result<Arc<Kernel>> {
        self.compiled(name, text, entry, access, false)
    }

    fn compiled(
        &self,
        name: &str,
        text: impl FnOnce() -> String,
        entry: &str,
        access: &[Access],
        own: bool,
    ) -> Result<Arc<Kernel>> {
        let key = format!("{name}/{entry}");
        let mut kernels = unpoisoned(&self.kernels);
        if let Some(kernel) = kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let source = with_common(&text());
        let module =
            wgpu::ShaderModuleDescriptor { label: Some(name), source: wgpu::ShaderSource::Wgsl(source.into()) };
        let module = if own { self.ends(module) } else { self.device.create_shader_module(module) };
        let entries: Vec<_> =
            std::iter::once(entry_of(0, None)).chain((1..).zip(access).map(|(b, a)| entry_of(b, Some(*a)))).collect();
        let layout = wgpu::BindGroupLayoutDescriptor { label: Some(&key), entries: &entries };
        let layout = self.device.create_bind_group_layout(&layout);
        let whole = wgpu::PipelineLayoutDescriptor {
            label: Some(&key),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        };
        let whole = self.device.create_pipeline_layout(&whole);
        let pipeline = wgpu::ComputePipelineDescriptor {
            label: Some(&key),
            layout: Some(&whole),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                // Every kernel writes its workgroup memory before it reads it.
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        };
        let pipeline = self.device.create_compute_pipeline(&pipeline);
        self.check()?;
        let kernel = Arc::new(Kernel { pipeline, layout });
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Compiles a text without the counters that end endless loops, which take a tenth of the time of the products on an
    /// H100. Bounds stay checked.
    #[allow(unsafe_code)]
    fn ends(&self, module: wgpu::ShaderModuleDescriptor) -> wgpu::ShaderModule {
        let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };
        // SAFETY: no loop of this crate's kernels is endless: each counts up to a constant or to a number of the plan
        // (`depth`, `rows`). Tests run all of them, at sizes that fill no block, against the definitions
        // (`tests/suite/passes.rs`).
        unsafe { self.device.create_shader_module_trusted(module, checks) }
    }

    /// Allocates a buffer of `bytes` zeros.
    pub(super) fn buffer(&self, label: &str, bytes: usize) -> Result<wgpu::Buffer> {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.check()?;
        Ok(buffer)
    }

    /// Allocates a buffer with these numbers.
    pub(super) fn filled<T: bytemuck::Pod>(&self, label: &str, data: &[T]) -> Result<wgpu::Buffer> {
        let buffer = self.buffer(label, size_of_val(data))?;
        self.write(&buffer, 0, data)?;
        Ok(buffer)
    }

    /// Copies numbers to the GPU, a portion at a time.
    pub(super) fn write<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer, offset: usize, data: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        for (i, part) in bytes.chunks(TRAVEL).enumerate() {
            self.queue.write_buffer(buffer, (offset + i * TRAVEL) as u64, part);
            self.queue.submit([]);
            if bytes.len() > TRAVEL {
                self.wait(None)?;
            }
        }
        self.check()
    }

    /// Copies numbers from the GPU, a portion at a time.
    pub(super) fn read<T: bytemuck::Pod>(&self, buffer: &wgpu::Buffer, offset: usize, count: usize) -> Result<Vec<T>> {
        let bytes = count * size_of::<T>();
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("to the host"),
            size: bytes.min(TRAVEL) as u64,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut values = Vec::with_capacity(count);
        for from in (0..bytes).step_by(TRAVEL) {
            let some = (bytes - from).min(TRAVEL) as u64;
            let mut encoder = self.device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(buffer, (offset + from) as u64, &staging, 0, some);
            let index = self.queue.submit([encoder.finish()]);
            let slice = staging.slice(..some);
            // An error shows in get_mapped_range.
            slice.map_async(wgpu::MapMode::Read, |_| {});
            self.wait(Some(index))?;
            let view = slice.get_mapped_range().map_err(|e| Error::Gpu(format!("{}: {e}", self.report().name)))?;
            values.extend(bytemuck::pod_collect_to_vec::<u8, T>(&view));
            drop(view);
            staging.unmap();
        }
        self.check()?;
        Ok(values)
    }

    /// Waits for a submission, or for all of them.
    fn wait(&self, index: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: index, timeout: None };
        let done = self.device.poll(wait);
        self.check()?;
        done.map(|_| ()).map_err(|e| Error::Gpu(format!("{}: {e}", self.report().name)))
    }
}

/// Joins common.wgsl and `text`; the directives of `text` (`enable ..;`) come first, as WGSL requires.
pub(super) fn with_common(text: &str) -> String {
    let directive = |line: &&str| line.starts_with("enable ");
    let directives: String = text.lines().take_while(directive).map(|l| format!("{l}\n")).collect();
    format!("{directives}{}\n{}", include_str!("common.wgsl"), &text[directives.len()..])
}

fn entry_of(binding: u32, access: Option<Access>) -> wgpu::BindGroupLayoutEntry {
    let read = |read_only| wgpu::BufferBindingType::Storage { read_only };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match access {
                None => wgpu::BufferBindingType::Uniform,
                Some(Access::Read) => read(true),
                Some(Access::Write) => read(false),
            },
            has_dynamic_offset: access.is_none(),
            min_binding_size: None,
        },
        count: None,
    }
}

struct Call {
    kernel: Arc<Kernel>,
    group: wgpu::BindGroup,
    size: [usize; 3],
}

/// Submission in flight.
struct Flight {
    index: wgpu::SubmissionIndex,
    cost: f64,
    ticks: u64,
}

/// Queue of calls, executed in order.
pub(super) struct Work<'a> {
    gpu: &'a Gpu,
    uniforms: wgpu::Buffer,
    bytes: Vec<u8>,
    calls: Vec<Call>,
    cost: f64,
    ticks: u64,
    budget: f64,
    flying: VecDeque<Flight>,
    landed: Instant,
    tick: &'a (dyn Fn() + Sync),
}

impl<'a> Work<'a> {
    /// Makes an empty queue; `tick` is called for every finished step.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(gpu: &'a Gpu, tick: &'a (dyn Fn() + Sync)) -> Result<Self> {
        let uniforms = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("parameters"),
            size: (CALLS * SLOT) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.check()?;
        Ok(Work {
            gpu,
            uniforms,
            bytes: vec![],
            calls: vec![],
            cost: 0.0,
            ticks: 0,
            budget: FIRST,
            flying: VecDeque::new(),
            landed: Instant::now(),
            tick,
        })
    }

    /// Binds the buffers of a kernel, in the order of its bindings from 1.
    pub fn bind(&self, kernel: &Kernel, buffers: &[&wgpu::Buffer]) -> wgpu::BindGroup {
        let uniforms = wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &self.uniforms,
                offset: 0,
                // Size of the parameters, padded to a multiple of 16 bytes as uniform blocks require.
                size: std::num::NonZeroU64::new(64),
            }),
        };
        let others =
            (1..).zip(buffers).map(|(binding, b)| wgpu::BindGroupEntry { binding, resource: b.as_entire_binding() });
        let entries: Vec<_> = std::iter::once(uniforms).chain(others).collect();
        self.gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &kernel.layout,
            entries: &entries,
        })
    }

    /// Queues a call of `size` workgroups that takes about `cost` floating-point operations.
    pub fn call(
        &mut self,
        kernel: &Arc<Kernel>,
        group: &wgpu::BindGroup,
        params: &Params,
        size: [usize; 3],
        cost: f64,
    ) {
        let from = self.calls.len() * SLOT;
        self.bytes.resize(from + SLOT, 0);
        let words = params.words();
        let words: &[u8] = bytemuck::cast_slice(&words);
        self.bytes[from..from + words.len()].copy_from_slice(words);
        self.calls.push(Call { kernel: kernel.clone(), group: group.clone(), size });
        self.cost += cost;
    }

    /// Marks the end of a step and submits the queue if it is long enough.
    ///
    /// # Errors
    /// If the device fails.
    pub fn step(&mut self) -> Result<()> {
        /// Largest number of calls in one step.
        const STEP: usize = 32;
        self.ticks += 1;
        if self.cost < self.budget && self.calls.len() + STEP <= CALLS {
            return Ok(());
        }
        self.submit();
        while self.flying.len() >= FLYING {
            self.land()?;
        }
        Ok(())
    }

    /// Submits the remaining calls and waits for all of them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn finish(&mut self) -> Result<()> {
        self.submit();
        while !self.flying.is_empty() {
            self.land()?;
        }
        Ok(())
    }

    fn submit(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let gpu = self.gpu;
        gpu.queue.write_buffer(&self.uniforms, 0, &self.bytes);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for (i, call) in self.calls.drain(..).enumerate() {
            pass.set_pipeline(&call.kernel.pipeline);
            pass.set_bind_group(0, &call.group, &[(i * SLOT) as u32]);
            let [x, y, z] = call.size.map(|s| s as u32);
            pass.dispatch_workgroups(x, y, z);
        }
        drop(pass);
        if self.flying.is_empty() {
            self.landed = Instant::now();
        }
        let index = gpu.queue.submit([encoder.finish()]);
        self.bytes.clear();
        self.flying.push_back(Flight {
            index,
            cost: std::mem::take(&mut self.cost),
            ticks: std::mem::take(&mut self.ticks),
        });
    }

    /// Waits for the oldest submission and updates the rate from its duration.
    fn land(&mut self) -> Result<()> {
        let Some(flight) = self.flying.pop_front() else { return Ok(()) };
        self.gpu.wait(Some(flight.index))?;
        let seconds = self.landed.elapsed().as_secs_f64().max(1e-6);
        self.landed = Instant::now();
        self.budget = flight.cost / seconds * PORTION;
        (0..flight.ticks).for_each(|_| (self.tick)());
        Ok(())
    }
}
