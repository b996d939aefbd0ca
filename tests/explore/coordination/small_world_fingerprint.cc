#include <algorithm>

#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/engine/engine.h"
#include "tests/explore/coordination/small_world.h"

namespace paceline::coordination::testing {
namespace {

std::string DescribePolicy(const sync::Policy* policy) {
  if (policy == nullptr) return "";
  const sync::Policy& inner = dynamic_cast<const sync::CheckedPolicy&>(*policy).inner();
  return dynamic_cast<const sync::Engine&>(inner).DebugString();
}

std::string DescribeOrder(const protocol::ShardOrder& order) {
  if (const auto* accumulate = std::get_if<protocol::AccumulateOrder>(&order))
    return Describe(accumulate->push);
  if (const auto* drop = std::get_if<protocol::DropOrder>(&order))
    return " d" + Describe(drop->push);
  if (const auto* commit = std::get_if<protocol::CommitAll>(&order)) {
    std::string text = fmt::format(" c{}{}", commit->commit.version, commit->commit.is_pinned);
    for (const auto& push : commit->pushes) text += Describe(push.push);
    return text;
  }
  if (const auto* fence = std::get_if<protocol::Fence>(&order)) {
    return fmt::format(" x{}{}", fence->worker, fence->incarnation);
  }
  if (const auto* admit = std::get_if<protocol::Admit>(&order))
    return fmt::format(" w{}{}", admit->worker, admit->incarnation);
  return fmt::format(" o{}", order.index());
}

}  // namespace

std::string Describe(const store::PushId& id) {
  return fmt::format(" {}{}{}", id.worker, id.incarnation, id.sequence);
}

std::string ToString(const Action& action) {
  static constexpr const char* kNames[] = {
      "hear c",        "worker acts ", "shard acts s", "hear s",          "checkpoint kept ",
      "model saved ",  "time ",        "restart ",     "crash ",          "crash halfway ",
      "crash shard s", "freeze ",      "thaw ",        "restart shard s", "crash coordinator ",
      "suspend ",      "change ",      "drain "};
  return fmt::format("{}{}", kNames[static_cast<size_t>(action.kind)], action.index);
}

std::string SmallWorld::Fingerprint() const {
  std::string text = coordinator_.Describe() + "|" + DescribePolicy(policy_.get());
  for (const ShardModel& shard : shards_) {
    text += fmt::format("|shard {}{}{} {} ", shard.is_alive, shard.has_stopped, shard.is_loss_heard,
                        shard.newest());
    text += fmt::format("{}", shard.generation == shards_[0].generation);
    for (const auto& order : shard.orders) text += DescribeOrder(order);
    for (const auto& answer : shard.answers) text += fmt::format(" a{}", answer.index());
    for (const auto& [worker, incarnation] : shard.fenced)
      text += fmt::format(" f{}{}", worker, incarnation);
    for (const auto& [worker, incarnation] : shard.admitted)
      text += fmt::format(" w{}{}", worker, incarnation);
    for (const auto& push : shard.staged) text += Describe(push);
    text += "+";
    for (const auto& push : shard.sum) text += Describe(push);
  }
  for (const Process& process : processes_) {
    text += fmt::format("|process {}{}{}{}{}{}", process.is_up, process.is_frozen, process.is_done,
                        process.is_closed, process.incarnation, process.sequence);
    if (process.base.value() > 0) text += fmt::format(" {}", process.base);
    for (const auto& order : process.inbox) {
      text += fmt::format(" {}", order.index());
      if (const auto* released = std::get_if<protocol::Released>(&order))
        text += fmt::format("{}", released->version);
    }
  }
  // By the process and not by number: how many connections there were before does not matter.
  for (const auto& [connection, queue] : incoming_) {
    const auto owner = std::find_if(
        processes_.begin(), processes_.end(),
        [&, c = connection](const Process& process) { return process.connection == c; });
    text += fmt::format("|in {}", owner - processes_.begin());
    for (const Fact& fact : queue) {
      const auto* said = std::get_if<WorkerSaid>(&fact);
      text += fmt::format(" {}", said == nullptr ? 99 : said->message.index());
      const auto* push =
          said == nullptr ? nullptr : std::get_if<protocol::PushDone>(&said->message);
      if (push != nullptr) text += fmt::format("{}", push->based_on);
    }
  }
  for (const Checkpoint& checkpoint : disk_) text += fmt::format("|{}", checkpoint.state.version);
  return text + fmt::format("|{} {} {}|{} {} {} {} {} {} {} {}", static_cast<int>(options_.scheme),
                            options_.changes, options_.drains, options_.worker_crashes,
                            options_.shard_crashes, options_.coordinator_crashes,
                            options_.suspensions, options_.freezes, saving_.has_value(),
                            completing_.has_value(), finished_.has_value());
}

}  // namespace paceline::coordination::testing
