"""One page about a run, with its pictures inside: to open in a browser, or to send."""

import base64
import html
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from mnist_gan._files import write_whole
from mnist_gan._private import KEEP
from mnist_gan._recipes import find_recipe
from mnist_gan._run import RunFolder

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { border-collapse: collapse } td, th { padding: .2rem 1.2rem .2rem 0 }
td { font-variant-numeric: tabular-nums } th { text-align: left; font-weight: 600 }
img { max-width: 100%; image-rendering: auto; display: block }
footer { margin-top: 3rem; color: #666; font-size: .9rem }
"""
_LICENCE = (
    "MNIST is by Y. LeCun, C. Cortes and C. J. C. Burges, CC BY-SA 3.0; so are digits "
    "that are made from it."
)
_FIGURES = {
    "frechet": ("Fréchet distance to real digits", "{:.1f}"),
    "score": ("classifier score, 1 to 10", "{:.2f}"),
    "class_divergence": ("KL of the classes, nats", "{:.3f}"),
    "copies": ("as near to a learned digit as a copy", "{:.1%}"),
}


def write_report(folder: RunFolder) -> Path:
    """Writes `report.html` into a run's folder, from what lies there.

    What the run has not made yet, such as an evaluation, is left out.

    Args:
      folder: of a run that has written its metrics.

    Returns:
      The file.

    Raises:
      UserError: if there is no run.
    """
    config = folder.load()
    recipe = find_recipe(config.recipe)
    parts = [
        f"<h1>{html.escape(folder.path.name)}: {html.escape(config.recipe)}</h1>",
        f"<p>{html.escape(recipe.about)}.</p>",
        f"<p><strong>{KEEP}</strong></p>" if recipe.privacy else "",
        _table(
            {
                "steps": f"{_steps_taken(folder):,} of {config.steps:,}",
                "digits a step": f"{config.batch_size:,}",
                "learned from": f"{config.rows:,} digits, {config.data}",
                "seed": str(config.seed),
            }
        ),
        _picture("Digits", folder.sample_sheet, "digits drawn by the generator"),
        _picture("Losses", folder.loss_plot, "both losses by step, with equilibria"),
        _evaluation(folder),
        _picture("By derivatives", folder.inspection_page, "what inspect found"),
        f"<footer>{_LICENCE}</footer>",
    ]
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(folder.path.name)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )
    path = folder.path / "report.html"
    write_whole(path, lambda file: file.write(page.encode()))
    return path


def _steps_taken(folder: RunFolder) -> int:
    if not folder.metrics.exists():
        return 0
    steps = pq.read_table(folder.metrics, columns=["step"])["step"]
    return max(steps.to_pylist(), default=0)


def _evaluation(folder: RunFolder) -> str:
    if not folder.evaluation.exists():
        return ""
    content = json.loads(folder.evaluation.read_text(encoding="utf-8"))
    columns = {"this run": "figures", "real digits": "floor", "reference": "reference"}
    found = {name: content[key] for name, key in columns.items() if content.get(key)}
    head = "".join(f"<th>{name}</th>" for name in ("", *found))
    rows = "".join(
        f"<tr><th>{name}</th>{_cells(key, form, found)}</tr>"
        for key, (name, form) in _FIGURES.items()
    )
    table = f"<table><tr>{head}</tr>{rows}</table>"
    drawn = f"<p>Of {content['drawn']['n']:,} digits.</p>"
    page = _image(folder.evaluation_page, "a sheet, by class, in between, nearest")
    return f"<h2>Judged</h2>{table}{drawn}{page}"


def _cells(key: str, form: str, found: dict[str, Any]) -> str:
    return "".join(
        f"<td>{form.format(figures[key])}</td>" for figures in found.values()
    )


def _table(rows: dict[str, str]) -> str:
    cells = (
        f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>"
        for name, text in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


def _picture(title: str, path: Path, about: str) -> str:
    return f"<h2>{title}</h2>{_image(path, about)}" if path.exists() else ""


def _image(path: Path, about: str) -> str:
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{about}" src="data:image/png;base64,{data}">'
