#include "lib/job/manifest/yaml.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "lib/base/limits.h"
#include "lib/job/manifest/size_check.h"
#include "lib/job/manifest/values/scalar.h"

namespace paceline::job {
namespace {

// Leaves the parser, which has no other way to be stopped. The error is in what is parsed.
struct Stopped {};

// Builds one Node from the parser's events, and stops it at the first limit: the work is in
// proportion to the text.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(Parsed& parsed) : parsed_(parsed) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Attach({Node()}, mark, anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      Fail(mark, "an alias may not stand inside its own anchor");
      return Attach({Node()}, mark, 0, "");
    }
    const Grown& held = found->second;
    Spend(held.values, mark);
    if (stack_.size() + held.depth > limits::kManifestDepthMax) Stop(mark, TooDeep());
    Attach(held, mark, 0, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_plain = tag == "?" || tag.empty();
    Attach({is_plain ? ResolveScalar(value) : Node::String(value)}, mark, anchor, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Node(Node::Kind::kList), mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Node(Node::Kind::kMap), mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A node with what it costs to copy it.
  struct Grown {
    Node node;
    size_t values = 1;
    size_t depth = 0;  // Of lists and objects within.
  };
  struct Frame {
    Grown grown;
    YAML::anchor_t anchor = 0;
    std::map<std::string, int, std::less<>> lines;  // Of the keys of a map.
    std::string key;
    int key_line = 0;
    bool has_key = false;
    bool is_key = false;  // A list or map that stands where a key should.
  };

  [[noreturn]] void Stop(const YAML::Mark& mark, std::string message) {
    parsed_.errors.push_back({ChildPath(), std::move(message), mark.line + 1});
    throw Stopped();
  }

  void Spend(size_t values, const YAML::Mark& mark) {
    values_ += values;
    if (values_ > limits::kManifestValuesMax) Stop(mark, TooManyValues(limits::kManifestValuesMax));
  }

  void Fail(const YAML::Mark& mark, std::string message) {
    if (parsed_.errors.size() >= limits::kManifestErrorsMax) {
      parsed_.errors.push_back(
          {"", fmt::format("more than {} errors; the rest was not read", parsed_.errors.size()),
           mark.line + 1});
      throw Stopped();
    }
    parsed_.errors.push_back({ChildPath(), std::move(message), mark.line + 1});
  }

  // Of what comes next. Made for errors alone, of which there are few.
  std::string ChildPath() const {
    std::string path;
    for (const Frame& frame : stack_) {
      if (frame.grown.node.kind == Node::Kind::kList) {
        path += fmt::format("[{}]", frame.grown.node.elements.size());
      } else if (frame.has_key) {
        path += (path.empty() ? "" : ".") + frame.key;
      }
    }
    return path;
  }

  void Open(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (stack_.size() >= limits::kManifestDepthMax) Stop(mark, TooDeep());
    Frame frame;
    frame.is_key = !stack_.empty() && stack_.back().grown.node.kind == Node::Kind::kMap &&
                   !stack_.back().has_key;
    if (frame.is_key) Fail(mark, "a key must be a single word");
    node.line = mark.line + 1;
    frame.grown = {.node = std::move(node), .values = 1, .depth = 1};
    frame.anchor = anchor;
    stack_.push_back(std::move(frame));
  }

  void Close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (frame.is_key) {
      stack_.back().has_key = true;
      stack_.back().key.assign(1, '?');
      return;
    }
    YAML::Mark mark;
    mark.line = frame.grown.node.line - 1;
    Attach(std::move(frame.grown), mark, frame.anchor, "");
  }

  void Attach(Grown grown, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& raw) {
    Spend(1, mark);
    grown.node.line = mark.line + 1;
    if (anchor != 0) {
      Spend(grown.values, mark);
      anchors_[anchor] = grown;
    }
    if (stack_.empty()) {
      parsed_.root = std::move(grown.node);
      return;
    }
    Frame& top = stack_.back();
    if (top.grown.node.kind == Node::Kind::kMap && !top.has_key)
      return TakeKey(top, std::move(grown.node), mark, raw);
    top.grown.values += grown.values;
    top.grown.depth = std::max(top.grown.depth, grown.depth + 1);
    if (top.grown.node.kind == Node::Kind::kList) {
      top.grown.node.elements.push_back(std::move(grown.node));
      return;
    }
    if (top.lines.emplace(top.key, grown.node.line).second)
      top.grown.node.members.push_back({top.key, std::move(grown.node), top.key_line});
    top.has_key = false;
  }

  void TakeKey(Frame& top, Node node, const YAML::Mark& mark, const std::string& raw) {
    top.key = node.kind == Node::Kind::kString ? std::move(node.text) : raw;
    if (top.key.size() > limits::kManifestKeyBytesMax) Stop(mark, TooLongKey());
    top.key_line = node.line;
    top.has_key = true;
    if (const auto twice = top.lines.find(top.key); twice != top.lines.end())
      Fail(mark, fmt::format("comes twice in one object, first on line {}", twice->second));
  }

  Parsed& parsed_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Grown> anchors_;
  size_t values_ = 0;
};

// Leaves the document at the first thing in it.
class Refuser : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Refuse(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Refuse(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    Refuse(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Refuse(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Refuse(mark);
  }
  void OnMapEnd() override {}

  int line() const { return line_; }

 private:
  void Refuse(const YAML::Mark& mark) {
    line_ = mark.line + 1;
    throw Stopped();
  }

  int line_ = 0;
};

void ParseOneDocument(YAML::Parser& parser, Parsed& parsed) {
  Builder first(parsed);
  if (!parser.HandleNextDocument(first)) {
    parsed.errors.push_back({"", "empty: no document", 0});
    return;
  }
  Refuser second;
  try {
    if (!parser.HandleNextDocument(second)) return;
  } catch (const Stopped&) {
    // There is one.
  }
  parsed.errors.push_back(
      {"", "more than one document; put each TrainingJob into its own file", second.line()});
}

}  // namespace

Parsed ParseYaml(std::string_view text) {
  Parsed parsed;
  if (std::optional<FieldError> error = CheckLength(text, limits::kManifestBytesMax)) {
    parsed.errors.push_back(*std::move(error));
    return parsed;
  }
  if (text.find('\0') != std::string_view::npos) {
    parsed.errors.push_back({"", "not a text: holds a zero byte", 0});
    return parsed;
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    ParseOneDocument(parser, parsed);
  } catch (const Stopped&) {
    // The error is there already.
  } catch (const YAML::Exception& exception) {
    parsed.errors
        .clear();  // What was found before is mostly the same mistake, seen from elsewhere.
    parsed.errors.push_back({"", fmt::format("not valid YAML: {}", exception.msg),
                             exception.mark.is_null() ? 0 : exception.mark.line + 1});
  }
  return parsed;
}

}  // namespace paceline::job
