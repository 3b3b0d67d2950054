"""Colors for many classes: as different from each other as lightness and contrast allow.

Farthest-point sampling (Gonzalez, 1985) in OKLab (Ottosson, 2020), where distances are close to perceived differences:
each next class takes the candidate farthest from all colors taken so far. The dark page uses the same hues, but lighter.
Every color has a contrast of at least 3:1 to its page.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["class_colors", "contrast"]

_LIGHTNESS = (0.41, 0.52, 0.63)
_DARK_SHIFT = 0.15
"""Added to the lightness of every color on the dark page."""


def class_colors(n_classes: int) -> tuple[list[str], list[str]]:
    """``n_classes`` colors as ``#rrggbb``, for the light page and for the dark one; above 648 they repeat.

    >>> light, dark = class_colors(3)
    >>> len(set(light)), len(set(dark))
    (3, 3)
    """
    hues = np.deg2rad(np.arange(0, 360, 5))
    grid = np.array([(L, C, h) for L in _LIGHTNESS for C in (0.06, 0.11, 0.16) for h in hues])
    light = _in_gamut(grid)
    # The first color is a calm blue. The second term keeps colors away from gray, which the page itself uses.
    chosen = [int(np.argmin(np.abs(grid - (0.52, 0.16, np.deg2rad(255))).sum(axis=1)))]
    distance = np.minimum(_distance(light, light[chosen[0]]), 2 * np.hypot(light[:, 1], light[:, 2]))
    while len(chosen) < min(n_classes, len(grid)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, _distance(light, light[chosen[-1]]))
    order = np.resize(chosen, n_classes)
    dark = _in_gamut(grid + np.array([_DARK_SHIFT, 0.0, 0.0]))
    return _hex(light[order]), _hex(dark[order])


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two ``#rrggbb`` colors as WCAG 2 defines it, from 1 to 21.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    levels = sorted(_luminance(color) for color in (first, second))
    return (levels[1] + 0.05) / (levels[0] + 0.05)


def _luminance(color: str) -> float:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _distance(lab: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(((lab - one) ** 2).sum(axis=1))


def _in_gamut(lch: NDArray[np.float64]) -> NDArray[np.float64]:
    """OKLCh to OKLab with the chroma of each color reduced until sRGB can show it."""
    lch = lch.copy()
    for _ in range(40):
        lab = np.stack([lch[:, 0], lch[:, 1] * np.cos(lch[:, 2]), lch[:, 1] * np.sin(lch[:, 2])], axis=1)
        linear = _linear_rgb(lab)
        outside = ((linear < -1e-4) | (linear > 1 + 1e-4)).any(axis=1)
        lch[outside, 1] *= 0.95
    return lab


def _linear_rgb(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    to_lms = np.array([[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728],
                       [1, -0.0894841775, -1.2914855480]])  # fmt: skip
    to_rgb = np.array([[4.0767416621, -3.3077115913, 0.2309699292],
                       [-1.2684380046, 2.6097574011, -0.3413193965],
                       [-0.0041960863, -0.7034186147, 1.7076147010]])  # fmt: skip
    return (lab @ to_lms.T) ** 3 @ to_rgb.T


def _hex(lab: NDArray[np.float64]) -> list[str]:
    linear = np.clip(_linear_rgb(lab), 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in np.rint(255 * rgb).astype(int)]
