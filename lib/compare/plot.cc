#include "lib/compare/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace paceline::compare {
namespace {

constexpr double kWidth = 900;
constexpr double kPanelHeight = 220;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 50;
constexpr double kGap = 50;
constexpr int kTicks = 5;
constexpr size_t kPointsMax = 200;  // Of one line.

constexpr std::array kColours = {"#4269d0", "#ff725c", "#3ca951", "#a463f2", "#efb118",
                                 "#6cc5b0", "#97bbf5", "#9c6b4e", "#ff8ab7", "#9498a0"};

struct Point {
  double x = 0;
  double y = 0;
};
struct Line {
  size_t arm = 0;
  std::vector<Point> points;
  bool is_stepped = false;  // Each value holds until the next.
};
struct Panel {
  std::string label;
  std::vector<Line> lines;
};

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// Means of groups of neighbours, so many that kPointsMax is kept.
std::vector<Point> Thinned(const std::vector<Point>& points) {
  const size_t group = (points.size() + kPointsMax - 1) / kPointsMax;
  std::vector<Point> thin;
  for (size_t at = 0; at < points.size(); at += group) {
    Point mean;
    const size_t end = std::min(at + group, points.size());
    for (size_t i = at; i < end; ++i) {
      mean.x += points[i].x / static_cast<double>(end - at);
      mean.y += points[i].y / static_cast<double>(end - at);
    }
    thin.push_back(mean);
  }
  return thin;
}

template <class Value>
std::vector<Point> OverCommits(const ArmRun& run, Value value) {
  std::vector<Point> points;
  for (const CommitPoint& commit : run.series.commits)
    if (const double y = value(commit); std::isfinite(y)) points.push_back({commit.seconds, y});
  return Thinned(points);
}

std::vector<Panel> Panels(const std::vector<ArmRun>& runs, const std::vector<std::string>& arms) {
  std::vector<Panel> panels = {{"loss", {}}, {"pushes in a commit (k)", {}}, {"batch size", {}}};
  for (const ArmRun& run : runs) {
    const auto arm = static_cast<size_t>(std::ranges::find(arms, run.scheme) - arms.begin());
    panels[0].lines.push_back(
        {arm, OverCommits(run, [](const CommitPoint& commit) { return commit.loss; })});
    panels[1].lines.push_back({arm, OverCommits(run, [](const CommitPoint& commit) {
                                 return static_cast<double>(commit.pushes);
                               })});
    std::map<uint64_t, std::vector<Point>> workers;
    for (const BatchPoint& batch : run.series.batches)
      workers[batch.worker].push_back({batch.seconds, static_cast<double>(batch.samples)});
    const double end = run.series.commits.empty() ? 0 : run.series.commits.back().seconds;
    for (auto& [worker, points] : workers) {
      points.push_back({std::max(end, points.back().x), points.back().y});
      panels[2].lines.push_back({arm, std::move(points), true});
    }
  }
  if (panels[2].lines.empty()) panels.pop_back();
  return panels;
}

double Largest(const std::vector<Line>& lines, double Point::*coordinate) {
  double largest = 0;
  for (const Line& line : lines) {
    for (const Point& point : line.points) largest = std::max(largest, point.*coordinate);
  }
  return largest;
}

// The next of 1, 2, 5, 10, ... times a power of ten.
double RoundUp(double value) {
  if (value <= 0) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (value <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

class Canvas {
 public:
  Canvas(double top, double x_max, double y_max) : top_(top), x_max_(x_max), y_max_(y_max) {}

  double X(double x) const { return kLeft + x / x_max_ * (kWidth - kLeft - kRight); }
  double Y(double y) const { return top_ + kPanelHeight * (1 - y / y_max_); }

  std::string Axes(const std::string& label) const {
    std::string svg;
    for (int tick = 0; tick <= kTicks; ++tick) {
      const double x = x_max_ * tick / kTicks;
      const double y = y_max_ * tick / kTicks;
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g} s</text>\n",
          X(0), Y(y), X(x_max_), Y(y), X(0) - 6, Y(y) + 4, y, X(x), Y(0) + 16, x);
    }
    return svg + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"bold\">{}</text>\n",
                             kLeft, top_ - 8, label);
  }

  std::string Draw(const Line& line) const {
    if (line.points.empty()) return "";
    std::string at;
    for (size_t i = 0; i < line.points.size(); ++i) {
      const Point& point = line.points[i];
      if (line.is_stepped && i > 0)
        at += fmt::format("{:.1f},{:.1f} ", X(point.x), Y(line.points[i - 1].y));
      at += fmt::format("{:.1f},{:.1f} ", X(point.x), Y(point.y));
    }
    at.pop_back();
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" "
        "stroke-opacity=\"0.7\"/>\n",
        at, kColours[line.arm % kColours.size()]);
  }

 private:
  double top_;
  double x_max_;
  double y_max_;
};

}  // namespace

std::string PlotSvg(const std::vector<ArmRun>& runs, const std::string& title) {
  const std::vector<std::string> arms = ArmsOf(runs);
  const std::vector<Panel> panels = Panels(runs, arms);
  double x_max = 0;
  for (const Panel& panel : panels) x_max = std::max(x_max, Largest(panel.lines, &Point::x));
  const double height = kTop + static_cast<double>(panels.size()) * (kPanelHeight + kGap);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2:g}\" y=\"18\" font-size=\"14\">{3}</text>\n",
      kWidth, height, kLeft, Escaped(title));
  double top = kTop;
  for (const Panel& panel : panels) {
    const Canvas canvas(top, RoundUp(x_max), RoundUp(Largest(panel.lines, &Point::y)));
    svg += canvas.Axes(panel.label);
    for (const Line& line : panel.lines) svg += canvas.Draw(line);
    top += kPanelHeight + kGap;
  }
  double x = kLeft + 220;
  for (size_t i = 0; i < arms.size(); ++i) {
    svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" fill=\"{}\">{}</text>\n", x, kTop - 8,
                       kColours[i % kColours.size()], Escaped(arms[i]));
    x += 24 + 7.0 * static_cast<double>(arms[i].size());
  }
  return svg + "</svg>\n";
}

}  // namespace paceline::compare
