"""Other ways to level a frame on the same machine: torchvision, PyTorch, OpenCV. NV12 luma, chroma copied along.

python3 benches/gpu/peers.py
"""

import time

import numpy
import torch

SIZES = [(1920, 1080), (3840, 2160)]
FRAMES = 200


def best(work, frames=FRAMES, runs=4, synchronize=None):
    """The least mean time of a frame in ms."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        for _ in range(frames):
            work()
        if synchronize:
            synchronize()
        times.append((time.perf_counter() - began) / frames * 1e3)
    return min(times)


def table_of(counts):
    """Equalizes: the share of pixels below each code."""
    total = torch.cumsum(counts, 0)
    return (total * 255 // total[-1]).to(torch.uint8)


def main():
    for width, height in SIZES:
        random = numpy.random.default_rng(1)
        picture = numpy.clip(random.normal(100, 30, (height * 3 // 2, width)), 20, 200).astype(numpy.uint8)
        if torch.cuda.is_available():
            pinned = torch.from_numpy(picture).pin_memory()
            output = torch.empty_like(pinned).pin_memory()

            def bincount():
                frame = pinned.cuda(non_blocking=True)
                luma = frame[:height].flatten()
                table = table_of(torch.bincount(luma, minlength=256))
                frame[:height] = table[luma.int()].view(height, width)
                output.copy_(frame, non_blocking=True)

            print(f"PyTorch bincount and table {width}x{height}: {best(bincount, synchronize=torch.cuda.synchronize):.3f} ms")
            try:
                from torchvision.transforms.functional import equalize
            except ImportError:
                print("torchvision is not here")
            else:

                def vision():
                    frame = pinned.cuda(non_blocking=True)
                    frame[:height] = equalize(frame[:height].unsqueeze(0))[0]
                    output.copy_(frame, non_blocking=True)

                print(f"torchvision equalize {width}x{height}: {best(vision, synchronize=torch.cuda.synchronize):.3f} ms")
        try:
            import cv2
        except ImportError:
            print("OpenCV is not here")
        else:
            result = picture.copy()
            luma = numpy.ascontiguousarray(picture[:height])
            time_of = best(lambda: cv2.equalizeHist(luma, result[:height]), frames=40)
            print(f"OpenCV equalizeHist, {cv2.getNumThreads()} threads, luma only, {width}x{height}: {time_of:.3f} ms")


if __name__ == "__main__":
    main()
