#include "lib/job/yaml.h"

#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "lib/job/scalar.h"

namespace paceline::job {
namespace {

constexpr size_t kNodesMax = 100'000;  // Far beyond any manifest; stops aliases of aliases.

// Builds one Node from the parser's events.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(Parsed& parsed) : parsed_(parsed) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Attach(Node(), mark, anchor, "");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      Fail(mark, "an alias may not stand inside its own anchor");
      return Attach(Node(), mark, 0, "");
    }
    nodes_ += Count(found->second);
    Attach(Room(mark) ? found->second : Node(), mark, 0, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool is_plain = tag == "?" || tag.empty();
    Attach(is_plain ? ResolveScalar(value) : Node::String(value), mark, anchor, value);
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
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    std::string path;
    std::string key;
    int key_line = 0;
    bool has_key = false;
    bool is_key = false;  // A list or map that stands where a key should.
  };

  static size_t Count(const Node& node) {
    size_t count = 1;
    for (const Node& element : node.elements) count += Count(element);
    for (const Node::Member& member : node.members) count += Count(member.value);
    return count;
  }

  bool Room(const YAML::Mark& mark) {
    if (nodes_ <= kNodesMax) return true;
    if (!is_full_) Fail(mark, fmt::format("more than {} values; a manifest is smaller", kNodesMax));
    is_full_ = true;
    return false;
  }

  void Fail(const YAML::Mark& mark, std::string message) {
    parsed_.errors.push_back({ChildPath(), std::move(message), mark.line + 1});
  }

  std::string ChildPath() const {
    if (stack_.empty()) return "";
    const Frame& top = stack_.back();
    if (top.node.kind == Node::Kind::kList) {
      return fmt::format("{}[{}]", top.path, top.node.elements.size());
    }
    if (!top.has_key) return top.path;
    return top.path.empty() ? top.key : fmt::format("{}.{}", top.path, top.key);
  }

  void Open(Node node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    ++nodes_;
    Frame frame;
    frame.is_key =
        !stack_.empty() && stack_.back().node.kind == Node::Kind::kMap && !stack_.back().has_key;
    if (frame.is_key) Fail(mark, "a key must be a single word");
    frame.node = std::move(node);
    frame.node.line = mark.line + 1;
    frame.anchor = anchor;
    frame.path = ChildPath();
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
    mark.line = frame.node.line - 1;
    Attach(std::move(frame.node), mark, frame.anchor, "");
  }

  void Attach(Node node, const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& raw) {
    ++nodes_;
    node.line = mark.line + 1;
    if (anchor != 0) anchors_[anchor] = node;
    if (!Room(mark)) node = Node();
    if (stack_.empty()) {
      parsed_.root = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    if (top.node.kind == Node::Kind::kList) {
      top.node.elements.push_back(std::move(node));
    } else if (!top.has_key) {
      top.key = node.kind == Node::Kind::kString ? node.text : raw;
      top.key_line = node.line;
      top.has_key = true;
      if (const Node* twice = top.node.Find(top.key)) {
        Fail(mark, fmt::format("comes twice in one object, first on line {}", twice->line));
      }
    } else {
      if (top.node.Find(top.key) == nullptr) {
        top.node.members.push_back({top.key, std::move(node), top.key_line});
      }
      top.has_key = false;
    }
  }

  Parsed& parsed_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t nodes_ = 0;
  bool is_full_ = false;
};

}  // namespace

Parsed ParseYaml(std::string_view text) {
  Parsed parsed;
  if (text.find('\0') != std::string_view::npos) {
    parsed.errors.push_back({"", "not a text: holds a zero byte", 0});
    return parsed;
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder first(parsed);
    if (!parser.HandleNextDocument(first)) {
      parsed.errors.push_back({"", "empty: no document", 0});
      return parsed;
    }
    Parsed other;
    Builder second(other);
    if (parser.HandleNextDocument(second)) {
      parsed.errors.push_back(
          {"", "more than one document; put each TrainingJob into its own file", other.root.line});
    }
  } catch (const YAML::Exception& exception) {
    parsed.errors
        .clear();  // What was found before is mostly the same mistake, seen from elsewhere.
    parsed.errors.push_back({"", fmt::format("not valid YAML: {}", exception.msg),
                             exception.mark.is_null() ? 0 : exception.mark.line + 1});
  }
  return parsed;
}

}  // namespace paceline::job
