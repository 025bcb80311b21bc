"""Scans, made in memory: pages whose text is known, as pictures, a little askew and dirty."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pypdfium2 as pdfium
from pdfs import HEIGHT, WIDTH
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

DOTS = 150  # an inch


def picture(page: bytes, number: int = 1, angle: float = 0, noise: float = 0) -> Image.Image:
    """A page of a PDF as a scanner sees it: turned anticlockwise by so many degrees, grainy."""
    document = pdfium.PdfDocument(page)
    image = document[number - 1].render(scale=DOTS / 72).to_pil().convert("L")
    document.close()
    if angle:
        image = image.rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    if noise:
        grain = np.random.default_rng(0).normal(0, noise, (image.height, image.width))
        image = Image.fromarray((np.asarray(image) + grain).clip(0, 255).astype(np.uint8))
    return image


def put(canvas: Canvas, image: Image.Image) -> None:
    """Draw a page that is this picture and nothing else."""
    canvas.drawImage(ImageReader(image), 0, 0, WIDTH, HEIGHT)
    canvas.showPage()


def saved(images: Sequence[Image.Image], kind: str) -> bytes:
    """Pictures as one file, which says how many dots an inch they have."""
    buffer = io.BytesIO()
    rest = {"save_all": True, "append_images": images[1:]} if len(images) > 1 else {}
    images[0].save(buffer, kind, dpi=(DOTS, DOTS), **rest)
    return buffer.getvalue()
