"""Throughput and memory of feature extraction, compared with decoding alone and with the network alone.

    python benchmarks/extract.py data/flowers17/images --extractor lite0
    python benchmarks/extract.py data/flowers17/images --copies 30 --device cuda
    python benchmarks/extract.py data/flowers17/images --memory

Bare decoding: read, decode and crop, nothing else, with one process per core. Bare forward: the network on
pixels that are in memory already, at its fastest batch size; on the CPU the faster of one process with all
cores and one process per core. Pipeline: `extract_features` into an empty store. The three are measured
alternately, and the ratios are medians over the rounds, because other load on the machine varies. CUDA needs
--copies, so that the start of the workers is a small part of the time.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from grande_gnn.images import Extractor, ImageSet, extract_features, find_images, load_extractor, read_image

CORES = len(os.sched_getaffinity(0))
_extractor: Extractor


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path)
    parser.add_argument("--extractor", default="lite0")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument(
        "--copies", type=int, default=1, help="use each image this many times, as different files"
    )
    parser.add_argument("--thumbnails", action="store_true", help="with thumbnails, as grande label extracts")
    parser.add_argument("--repeat", type=int, default=3, help="how many rounds are measured")
    parser.add_argument(
        "--memory", action="store_true", help="peak memory at 1,000 and 10,000 images instead"
    )
    parser.add_argument("--peak-of", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--csv", type=Path, help="append the row to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.peak_of:
            report_peak(copy_images(options.images, Path(folder), n_images=options.peak_of), options)
        elif options.memory:
            compare_memory()
        else:
            n_images = options.copies * len(find_images(options.images))
            report_throughput(copy_images(options.images, Path(folder), n_images), options)


def copy_images(source: Path, folder: Path, n_images: int) -> ImageSet:
    """Images as ``n_images`` different files: bytes after the end of a JPEG change nothing but its digest."""
    paths = find_images(source).paths()
    for number in range(n_images):
        data = paths[number % len(paths)].read_bytes()
        (folder / f"{number:07d}.jpg").write_bytes(data + str(number).encode())
    return find_images(folder)


def report_throughput(images: ImageSet, options: argparse.Namespace) -> None:
    global _extractor
    _extractor = load_extractor(options.extractor)
    cuda = options.device != "cpu" and torch.cuda.is_available()
    forward = fastest_forward(cuda)
    rounds = [
        (bare_decode(images), forward(), pipeline(images, options.device, options.thumbnails))
        for _ in range(options.repeat)
    ]
    decoding, bare, full = (statistics.median(column) for column in zip(*rounds, strict=True))
    row = {
        "extractor": options.extractor,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "cores": CORES,
        "images": len(images),
        "thumbnails": options.thumbnails,
        "decode_per_s": round(decoding, 1),
        "forward_per_s": round(bare, 1),
        "pipeline_per_s": round(full, 1),
        "pipeline/forward": round(statistics.median(p / f for _, f, p in rounds), 3),
        "pipeline/slower": round(statistics.median(p / min(d, f) for d, f, p in rounds), 3),
    }
    for name, value in row.items():
        print(f"{name:>18}  {value}")
    if options.csv:
        append(row, options.csv)


def append(row: dict[str, object], path: Path) -> None:
    """Add a row to a CSV, with a header if it is the first."""
    is_new = not path.exists()
    with open(path, "a", newline="") as out:
        writer = csv.DictWriter(out, row)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def bare_decode(images: ImageSet) -> float:
    """Images decoded per second by one process per core; the processes have loaded their code before."""
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        pool.map(_decode, images.paths()[: 4 * CORES])
        return _rate(len(images), lambda: pool.map(_decode, images.paths(), chunksize=64))


def _decode(path: Path) -> None:
    preprocess = _extractor.preprocess
    preprocess.crop(read_image(path, preprocess.resize))


def fastest_forward(cuda: bool) -> Callable[[], float]:
    """The fastest way to run the network alone on this machine, as a measurement to repeat."""
    if cuda:
        moved = _extractor.to(torch.device("cuda"))
        batch = max((64, 128, 256), key=lambda batch: _forward_rate(batch, 1.0, moved))
        return lambda: _forward_rate(batch, 4.0, moved)
    together = max((1, 2, 4, 8, 16, 32), key=lambda batch: forward_together(batch, 1.0))
    apart = max((1, 2, 4, 8), key=lambda batch: forward_apart(batch, 1.0))
    return lambda: max(forward_together(together, 6.0), forward_apart(apart, 6.0))


def forward_together(batch: int, seconds: float) -> float:
    torch.set_num_threads(CORES)
    rate = _forward_rate(batch, seconds)
    torch.set_num_threads(1)
    return rate


def forward_apart(batch: int, seconds: float) -> float:
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        return sum(pool.starmap(_forward_rate, [(batch, seconds)] * CORES, chunksize=1))


def _forward_rate(batch: int, seconds: float, extractor: Extractor | None = None) -> float:
    network = extractor or _extractor
    size = network.preprocess.size
    pixels = torch.zeros(batch, size, size, 3, dtype=torch.uint8, device="cuda" if extractor else "cpu")
    for _ in range(3):
        network(pixels).cpu()
    start, n_images = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for _ in range(10 if extractor else 1):  # several batches are queued before waiting for the GPU
            features = network(pixels)
            n_images += batch
        features.cpu()
    return n_images / (time.perf_counter() - start)


def pipeline(images: ImageSet, device: str, thumbnails: bool) -> float:
    with tempfile.TemporaryDirectory() as store:
        options = {"store": store, "device": device, "thumbnails": thumbnails}
        return _rate(len(images), lambda: extract_features(images, _extractor, **options))


def _rate(n_images: int, work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return n_images / (time.perf_counter() - start)


def compare_memory() -> None:
    """Measure each size in a process of its own, because the peak of a process never decreases."""
    for n_images in (1000, 10000):
        subprocess.run([sys.executable, *sys.argv, "--peak-of", str(n_images)], check=True)


def report_peak(images: ImageSet, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = extract_features(
            images, load_extractor(options.extractor), store=folder, device=options.device
        )
        result.save(Path(folder) / "features.npz")
        size = (Path(folder) / "features.npz").stat().st_size
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{len(images):6d} images: peak {own:.0f} MB in the main process, {largest:.0f} MB in a worker; "
        f"features file {size / 2**20:.0f} MB"
    )
    if options.csv:
        row = {"extractor": options.extractor, "images": len(images), "main_mb": own, "worker_mb": largest}
        append(
            {name: value if isinstance(value, str) else round(value) for name, value in row.items()},
            options.csv,
        )


if __name__ == "__main__":
    main()
