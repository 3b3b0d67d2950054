"""Throughput and memory of feature extraction, beside its bare parts.

    python benchmarks/extract.py ../shared/data/flowers17/images --extractor lite0
    python benchmarks/extract.py ../shared/data/flowers17/images --copies 30 --device cuda
    python benchmarks/extract.py ../shared/data/flowers17/images --memory

Bare decoding: read, decode, crop and nothing else, one process a core. Bare forward: the network on
pixels that are in memory already; on the CPU the faster of one process with all cores and one process
a core, each at its best batch size. Pipeline: `extract_features` into an empty store. CUDA needs
--copies, so that the start of the workers does not count for much.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
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
    parser.add_argument("--repeat", type=int, default=3, help="measure this often and take the best of each")
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
    # In turns, so that other load on the machine falls on all of them.
    rounds = [
        (bare_decode(images), forward_cuda() if cuda else forward_cpu(), pipeline(images, options.device))
        for _ in range(options.repeat)
    ]
    decode, forward, full = (max(column) for column in zip(*rounds, strict=True))
    row = {
        "extractor": options.extractor,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "cores": CORES,
        "images": len(images),
        "decode_per_s": round(decode, 1),
        "forward_per_s": round(forward, 1),
        "pipeline_per_s": round(full, 1),
        "pipeline/forward": round(full / forward, 3),
        "pipeline/slower": round(full / min(decode, forward), 3),
    }
    for name, value in row.items():
        print(f"{name:>18}  {value}")
    if options.csv:
        is_new = not options.csv.exists()
        with open(options.csv, "a", newline="") as out:
            writer = csv.DictWriter(out, row)
            if is_new:
                writer.writeheader()
            writer.writerow(row)


def bare_decode(images: ImageSet) -> float:
    """Images per second, decoded by one process a core, each starting with its code loaded."""
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        pool.map(_decode, images.paths()[: 4 * CORES])
        return _rate(len(images), lambda: pool.map(_decode, images.paths(), chunksize=64))


def _decode(path: Path) -> None:
    preprocess = _extractor.preprocess
    preprocess.crop(read_image(path, preprocess.resize))


def forward_cpu() -> float:
    torch.set_num_threads(CORES)
    together = max(_forward_rate(batch) for batch in (1, 2, 4, 8, 16, 32))
    torch.set_num_threads(1)
    best = max((1, 2, 4, 8, 16), key=_forward_rate)
    with multiprocessing.get_context("fork").Pool(CORES) as pool:
        apart = sum(pool.map(_forward_rate, [best] * CORES, chunksize=1))
    return max(together, apart)


def _forward_rate(batch: int, seconds: float = 2.0) -> float:
    pixels = torch.zeros(batch, *2 * [_extractor.preprocess.size], 3, dtype=torch.uint8)
    _extractor(pixels)
    start, n_images = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        _extractor(pixels)
        n_images += batch
    return n_images / (time.perf_counter() - start)


def forward_cuda() -> float:
    moved = _extractor.to(torch.device("cuda"))
    rates = []
    for batch in (64, 128, 256):
        pixels = torch.zeros(batch, *2 * [_extractor.preprocess.size], 3, dtype=torch.uint8, device="cuda")
        for _ in range(5):
            moved(pixels)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(50):
            moved(pixels)
        torch.cuda.synchronize()
        rates.append(50 * batch / (time.perf_counter() - start))
    return max(rates)


def pipeline(images: ImageSet, device: str) -> float:
    with tempfile.TemporaryDirectory() as store:
        return _rate(len(images), lambda: extract_features(images, _extractor, store=store, device=device))


def _rate(n_images: int, work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return n_images / (time.perf_counter() - start)


def compare_memory() -> None:
    """Each size in a process of its own: a process's peak never goes down again."""
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


if __name__ == "__main__":
    main()
