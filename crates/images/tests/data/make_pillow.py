"""Writes pillow.bin.gz: what Pillow 12.0.0 (NumPy 2.4.6) makes of small images. Run: python make_pillow.py

A record is the length of its name (2 bytes, little-endian, as all numbers), the name, its kind (0 bytes of a file,
1 levels, 2 float32), three sizes (4 bytes each: channels, height, width; of a file 1, 1, length) and its data.
Magnitudes are those of torchvision's RandAugment (31 steps), computed in float64.
"""

import gzip
import io
import math
import struct

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageOps

assert PIL.__version__ == "12.0.0", PIL.__version__
MOST = 30
records = []


def put(name, kind, shape, data):
    head = name.encode()
    records.append(struct.pack("<H", len(head)) + head + struct.pack("<B3I", kind, *shape) + data)


def image(name, made):
    a = np.asarray(made)
    a = a[None] if a.ndim == 2 else a.transpose(2, 0, 1)
    kind = 2 if a.dtype == np.float32 else 1
    assert kind == 2 or a.dtype == np.uint8
    put(name, kind, a.shape, np.ascontiguousarray(a).tobytes())


def picture(height, width, seed):
    """Colours that vary smoothly, with noise and a limited range."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    planes = [110 + 70 * np.sin(y / (2 + c) + x / (3 - c / 2)) + 25 * rng.standard_normal((height, width)) for c in range(3)]
    return Image.fromarray(np.stack(planes, 2).clip(5, 240).astype(np.uint8))


def operations(im, m):
    share = m / MOST
    w, h = im.size
    shear, shift, factor = 0.3 * share, share * 150 / 331, 0.9 * share

    def affine(*matrix):
        return im.transform(im.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST, fillcolor=FILL[im.mode])

    for sign, s in (("+", 1), ("-", -1)):
        yield f"shear_x {sign}", affine(1, s * shear, 0, 0, 1, 0)
        yield f"shear_y {sign}", affine(1, 0, 0, s * shear, 1, 0)
        yield f"translate_x {sign}", affine(1, 0, -int(s * shift * w), 0, 1, 0)
        yield f"translate_y {sign}", affine(1, 0, 0, 0, 1, -int(s * shift * h))
        yield f"rotate {sign}", im.rotate(s * 30 * share, Image.Resampling.NEAREST, fillcolor=FILL[im.mode])
        yield f"brightness {sign}", ImageEnhance.Brightness(im).enhance(1 + s * factor)
        yield f"colour {sign}", ImageEnhance.Color(im).enhance(1 + s * factor)
        yield f"contrast {sign}", ImageEnhance.Contrast(im).enhance(1 + s * factor)
        yield f"sharpness {sign}", ImageEnhance.Sharpness(im).enhance(1 + s * factor)
    yield "posterise", ImageOps.posterize(im, 8 - round(4 * share))
    yield "solarise", ImageOps.solarize(im, 255 * (1 - share))


FILL = {"RGB": (77, 77, 77), "L": 77}
small = picture(11, 13, 1)
grey = picture(9, 8, 2).convert("L")
large = picture(17, 21, 3)
for name, im in (("small", small), ("grey", grey), ("large", large)):
    image(name, im)
image("small to grey", small.convert("L"))
for name, im, magnitudes in (("small", small, (9, 30)), ("grey", grey, (17,))):
    for m in magnitudes:
        for operation, made in operations(im, m):
            image(f"{name} {m} {operation}", made)
for name, im in (("small", small), ("grey", grey), ("large", large)):
    image(f"{name} auto_contrast", ImageOps.autocontrast(im))
    image(f"{name} equalise", ImageOps.equalize(im))
# Few levels, so that a step of the table is small against its remainder: entries above 255.
uneven = Image.fromarray(np.repeat(np.array([3, 9, 9, 200, 255], np.uint8), 102).reshape(30, 17))
image("uneven", uneven)
image("uneven equalise", ImageOps.equalize(uneven))
flat = Image.new("L", (5, 4), 9)
image("flat", flat)
image("flat auto_contrast", ImageOps.autocontrast(flat))
image("flat equalise", ImageOps.equalize(flat))
# Angles beyond the magnitudes of RandAugment.
for angle in (45, 77.7, -123, 180.5):
    image(f"small rotate {angle}", small.rotate(angle, Image.Resampling.NEAREST, fillcolor=FILL["RGB"]))

real = Image.fromarray(np.random.default_rng(4).normal(0, 3, (7, 10)).astype(np.float32))
image("real", real)
sizes = ((4, 5), (22, 26), (11, 3), (30, 13), (5, 29), (1, 1))
for filter_name, kind in (("bilinear", Image.Resampling.BILINEAR), ("bicubic", Image.Resampling.BICUBIC)):
    for h, w in sizes:
        image(f"small {filter_name} {h} {w}", small.resize((w, h), kind))
    for h, w in ((3, 4), (9, 21)):
        image(f"real {filter_name} {h} {w}", real.resize((w, h), kind))


def file(name, im, expected, **options):
    buffer = io.BytesIO()
    im.save(buffer, **options)
    data = buffer.getvalue()
    put(f"file {name}", 0, (1, 1, len(data)), data)
    image(f"decoded {name}", expected if expected is not None else Image.open(io.BytesIO(data)).convert("RGB"))


def over_white(im):
    white = Image.new("RGBA", im.size, "white")
    white.alpha_composite(im.convert("RGBA"))
    return white.convert("RGB")


alpha = Image.fromarray(np.random.default_rng(5).integers(0, 256, (11, 13), np.uint8))
clear = small.copy()
clear.putalpha(alpha)
dull = small.convert("L")
dull_clear = dull.copy()
dull_clear.putalpha(alpha)
few = small.quantize(16)
file("rgb.png", small, small, format="PNG")
file("grey.png", grey, grey, format="PNG")
file("rgba.png", clear, over_white(clear), format="PNG")
file("la.png", dull_clear, over_white(dull_clear).convert("L"), format="PNG")
file("palette.png", few, few.convert("RGB"), format="PNG")
bits = dull.point(lambda v: 255 * (v > 100)).convert("1")
file("bits.png", bits, bits.convert("L"), format="PNG")
wide = np.random.default_rng(6).integers(0, 65536, (5, 7), np.uint16)
file("wide.png", Image.fromarray(wide), np.round(wide / 257).astype(np.uint8), format="PNG")
file("rgb.jpg", small, None, format="JPEG", quality=90, subsampling=0)
file("progressive.jpg", small, None, format="JPEG", quality=90, subsampling=0, progressive=True)
grey_jpeg = io.BytesIO()
grey.save(grey_jpeg, format="JPEG", quality=90)
file("grey.jpg", grey, Image.open(grey_jpeg), format="JPEG", quality=90)
cmyk = small.convert("CMYK")
file("cmyk.jpg", cmyk, None, format="JPEG", quality=95, subsampling=0)

with open("pillow.bin.gz", "wb") as out:
    out.write(gzip.compress(b"".join(records), 9, mtime=0))
print(len(records), "records")
