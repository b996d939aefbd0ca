#include "operator/objects/seen/foreign_program.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

#include <fmt/format.h>

#include "operator/objects/json_at.h"

namespace paceline::controller {
namespace {

constexpr size_t kSaidMax = 100;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// A log's end without white space.
std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  return text;
}

// That the container never began.
bool IsOfTheRuntime(std::string_view reason) {
  return reason == "StartError" || reason == "ContainerCannotRun" ||
         reason == "CreateContainerError";
}

}  // namespace

// runc starts the container, whose whole log is then "exec /usr/bin/python3: exec format error" or,
// before 1.1, "standard_init_linux.go:228: exec user process caused: exec format error", with exit
// code 255 or 1; crun's is "exec container process `/app`: Exec format error"; a shell's, which
// runs a program that the image has of another architecture, ends in it too, with 126. Runtimes
// that begin nothing (gVisor, Kata) give reason StartError with code 128 and a text that contains
// it.
bool IsForeignProgram(const Json& terminated) {
  if (!terminated.is_object() || NumberAt(terminated, "exitCode") == 0) return false;
  const std::string said = LowerCase(TextAt(terminated, "message"));
  if (said.find("exec format error") == std::string::npos) return false;
  return IsOfTheRuntime(TextAt(terminated, "reason")) ||
         Trimmed(said).find('\n') == std::string_view::npos;
}

bool IsForForeignImage(std::string_view waiting_message) {
  const std::string said = LowerCase(waiting_message);
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{
          "exec format error",
          "no match for platform in manifest",    // containerd
          "no matching manifest for",             // Docker
          "no image found in manifest list for",  // CRI-O
          "no image found in image index for"},   // CRI-O, later.
      [&](std::string_view words) { return said.find(words) != std::string::npos; });
}

std::string DescribeForeign(std::string_view image, std::string_view said) {
  const std::string which =
      image.empty() ? "the image of an init container" : fmt::format("image {}", image);
  return fmt::format(
      "{} is not for its node's architecture: build it for that one too, or name "
      "kubernetes.io/arch in the template's nodeSelector ({})",
      which, Trimmed(said).substr(0, kSaidMax));
}

}  // namespace paceline::controller
