#!/usr/bin/env python3
"""README.md shows what the documents that it links to say: its chart is made of their tables, and its figures stand on their pages."""
import re
import unittest
import xml.etree.ElementTree
from unittest import mock

import plot
import readme_chart

SVG = "{http://www.w3.org/2000/svg}"
ROW = re.compile(r"^\| .* \|$", re.MULTILINE)
FIGURE = re.compile(r"\d+(?:[.,]\d+)+|\b\d+\b")
LINK = re.compile(r"\]\(([\w./-]+)(?:#([\w-]+))?\)")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def performance():
    return readme_chart.PERFORMANCE.read_text(encoding="utf-8")


def readme():
    return readme_chart.README.read_text(encoding="utf-8")


def linked(path, anchor):
    """What a link leads to: the page below the heading, up to the next one of its level."""
    text = (readme_chart.ROOT / path).read_text(encoding="utf-8")
    headings = [(match.start(), len(match.group(1)), re.sub(r"[^\w -]", "", match.group(2)).lower().replace(" ", "-")) for match in HEADING.finditer(text)]
    if not anchor:
        return text
    start, depth = next(((start, depth) for start, depth, slug in headings if slug == anchor), (len(text), 0))
    return text[start:min((at for at, level, _ in headings if at > start and level <= depth), default=len(text))]


class ChartTest(unittest.TestCase):
    def setUp(self):
        self.figures = readme_chart.Figures(performance())
        self.again = "tests/reproduce/readme_chart.py rewrites it"

    def test_the_chart_is_as_it_follows_from_the_tables(self):
        self.assertTrue(readme_chart.CHART.read_text(encoding="utf-8") == readme_chart.svg(self.figures), f"{readme_chart.CHART}: {self.again}")

    def test_the_first_page_shows_it_with_its_figures(self):
        self.assertTrue(readme_chart.filled(readme(), self.figures) == readme(), f"README.md: {self.again}")
        with self.assertRaisesRegex(LookupError, "no section"):
            readme_chart.filled("# Paceline\n", self.figures)

    def test_it_has_a_ground_of_its_own_and_words_for_a_screen_reader(self):
        svg = xml.etree.ElementTree.fromstring(readme_chart.svg(self.figures))
        ground = svg.find(f"{SVG}rect")
        self.assertEqual(ground.get("fill"), "white")
        self.assertGreaterEqual(float(ground.get("width")) + 1, float(svg.get("width")))
        self.assertTrue(svg.find(f"{SVG}title").text)
        self.assertIn("shorter is better", svg.find(f"{SVG}desc").text)

    def test_each_bar_is_as_long_as_its_figure(self):
        svg = xml.etree.ElementTree.fromstring(readme_chart.svg(self.figures))
        bars = [float(one.get("width")) for one in svg.iter(f"{SVG}rect") if one.get("height") == str(readme_chart.BIG.line - 1)]
        panels = [self.figures.step, [row for rows in self.figures.seconds.values() for row in rows]]
        wanted = [readme_chart.BIG.width * row["value"] / plot.most(panel) for panel in panels for row in panel]
        self.assertEqual(len(bars), len(wanted))
        for bar, width in zip(bars, wanted):
            self.assertAlmostEqual(bar, width, delta=0.06)

    def test_figures_are_those_of_the_tables(self):
        text = ("## A step beside PyTorch: x\n| | ms a step (least, most) | speed / DDP |\n|---|---:|---:|\n"
                f"| {readme_chart.DDP_STEP} | 20 (19, 22) | 1 |\n| {readme_chart.OUR_STEP} | 10 (9, 11) | **2.1** |\n"
                f"### {readme_chart.LOSS}\nsaid\n\n| | t | u |\n|---|---:|---:|\n| **{readme_chart.OUR_SPEED}** | 4.0 (3, 5) | 1 |\n"
                f"| {readme_chart.DDP_SECONDS} | 40.0 | 7 |\n| {readme_chart.OUR_SECONDS} | 10.5 (10, 12) | 7 |\n"
                f"## Later\n| | t |\n|---|---:|\n| {readme_chart.DDP_SECONDS} | 1 |\n")
        with mock.patch.object(readme_chart, "TABLES", {"t": "slow"}):
            figures = readme_chart.Figures(text)
            self.assertEqual(figures.step, [{"value": 20, "low": 19, "high": 22}, {"value": 10, "low": 9, "high": 11}])
            self.assertEqual(figures.seconds, {"t": [{"value": 40, "low": None, "high": None}, {"value": 10.5, "low": 10, "high": 12}]})
            self.assertEqual((figures.step_speed, figures.speeds), (2.1, {"t": 4}))
            for gone, named in ((f"### {readme_chart.LOSS}", "no heading"), (readme_chart.DDP_STEP, "no row 'DDP, gloo'")):
                with self.subTest(gone), self.assertRaisesRegex(LookupError, named):
                    readme_chart.Figures(text.replace(gone, "gone"))


class FirstPageTest(unittest.TestCase):
    def test_figures_of_its_tables_stand_on_the_pages_that_they_link(self):
        rows = [row for row in ROW.findall(readme()) if "](" in row]
        self.assertGreaterEqual(len(rows), 6)
        for row in rows:
            pages = [linked(path, anchor) for path, anchor in LINK.findall(row)]
            figures = FIGURE.findall(re.sub(r"\]\(.*?\)|BFloat16|Float32|H200|`.*?`|\[.*?\]", "", row))
            self.assertTrue(figures, row)
            for figure in figures:
                self.assertTrue(any(re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", page) for page in pages), f"{figure}: {row}")

    def test_its_links_lead_to_headings(self):
        for path, anchor in LINK.findall(readme()):
            if anchor:
                self.assertTrue(linked(path, anchor), f"{path}#{anchor}")

    def test_it_is_read_in_a_minute(self):
        self.assertLessEqual(readme().count("\n"), 110)


if __name__ == "__main__":
    unittest.main()
