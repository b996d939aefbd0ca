#include "tests/bench/links.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::bench {
namespace {

constexpr const char* kShardsHost = "10.77.0.1";
constexpr const char* kInterface = "eth0";

// What the command says on failure is why.
Status Do(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return Unavailable("cannot run: {}", command);
  std::string said;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe) != nullptr) said += line.data();
  if (::pclose(pipe) == 0) return OkStatus();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return Unavailable("{}: {}", command, said);
}

}  // namespace

Links::Links(size_t workers) {
  const std::string name = fmt::format("bench-step-{}", ::getpid());
  namespaces_.push_back(name + "-s");
  for (size_t i = 0; i < workers; ++i) namespaces_.push_back(fmt::format("{}-w{}", name, i));
  places_ = {.shards = {"ip", "netns", "exec", namespaces_[0]},
             .shards_host = kShardsHost,
             .workers_interface = kInterface};
  for (size_t i = 0; i < workers; ++i)
    places_.workers.push_back({"ip", "netns", "exec", namespaces_[1 + i]});
}

Links::~Links() {
  while (made_ > 0) (void)Do("ip netns del " + namespaces_[--made_]);
}

StatusOr<std::unique_ptr<Links>> Links::Make(size_t workers, double gigabits) {
  if (::geteuid() != 0) return Unavailable("network namespaces are root's");
  std::unique_ptr<Links> links(new Links(workers));
  for (const std::string& name : links->namespaces_) {
    PACELINE_RETURN_IF_ERROR(Do("ip netns add " + name));
    ++links->made_;
    PACELINE_RETURN_IF_ERROR(Do(fmt::format("ip -n {} link set lo up", name)));
  }
  const std::string& shards = links->namespaces_[0];
  PACELINE_RETURN_IF_ERROR(Do(fmt::format("ip -n {} link add br0 type bridge", shards)));
  PACELINE_RETURN_IF_ERROR(Do(fmt::format("ip -n {} addr add {}/24 dev br0", shards, kShardsHost)));
  PACELINE_RETURN_IF_ERROR(Do(fmt::format("ip -n {} link set br0 up", shards)));
  for (size_t worker = 0; worker < workers; ++worker)
    PACELINE_RETURN_IF_ERROR(links->Connect(worker, gigabits));
  return links;
}

Status Links::Connect(size_t worker, double gigabits) {
  const std::string& shards = namespaces_[0];
  const std::string& own = namespaces_[1 + worker];
  const std::string peer = fmt::format("w{}", worker);
  // A bucket that a tick of the kernel's clock cannot empty; little more waits before the sender is
  // told.
  const std::string limit =
      fmt::format("tbf rate {:.0f}mbit burst 1mb latency 20ms", 1e3 * gigabits);
  for (const std::string& command : {
           fmt::format("ip link add {} netns {} type veth peer name {} netns {}", kInterface, own,
                       peer, shards),
           fmt::format("ip -n {} link set {} master br0", shards, peer),
           fmt::format("ip -n {} link set {} up", shards, peer),
           fmt::format("ip -n {} addr add 10.77.0.{}/24 dev {}", own, 10 + worker, kInterface),
           fmt::format("ip -n {} link set {} up", own, kInterface),
           fmt::format("tc -n {} qdisc add dev {} root {}", own, kInterface, limit),
           fmt::format("tc -n {} qdisc add dev {} root {}", shards, peer, limit),
       })
    PACELINE_RETURN_IF_ERROR(Do(command));
  return OkStatus();
}

}  // namespace paceline::bench
