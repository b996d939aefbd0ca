#include "lib/kube/runtime/event_recorder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>

#include "lib/base/check.h"
#include "lib/base/rfc3339.h"
#include "lib/kube/core/metadata.h"

namespace paceline::kube {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kNoteBytesMax = 1024;
constexpr size_t kWordBytesMax = 128;
constexpr size_t kNameBytesMax = 236;  // A name has 253, with ours behind it.
constexpr Duration kWriteDeadline = Seconds(30);

Time WallNow() {
  return Time(
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

// At most `bytes_max`, cut between characters.
std::string Cut(std::string text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  text.resize(bytes_max);
  return text;
}

Json ReferenceTo(const Json& object) {
  Json reference = {{"apiVersion", StringAt(object, "/apiVersion")},
                    {"kind", StringAt(object, "/kind")},
                    {"name", Name(object)}};
  if (!Namespace(object).empty()) reference["namespace"] = Namespace(object);
  if (!Uid(object).empty()) reference["uid"] = Uid(object);
  if (!ResourceVersion(object).empty()) reference["resourceVersion"] = ResourceVersion(object);
  return reference;
}

std::string EventName(std::string name, Time now, uint64_t number) {
  name.resize(std::min(name.size(), kNameBytesMax));
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  const auto unique = static_cast<uint64_t>(now.time_since_epoch().count()) + number;
  return fmt::format("{}.{:016x}", name.empty() ? "event" : name, unique);
}

}  // namespace

// Record hands over to the loop's thread, on which all of the state is.
class EventRecorder::Writer : public std::enable_shared_from_this<Writer> {
 public:
  Writer(Client& client, EventRecorderOptions options)
      : client_(client), options_(std::move(options)) {}

  void Record(const Event& event);
  Status Flush(Duration deadline);
  void Stop() {
    client_.loop().RunAndWait([this] { is_stopped_ = true; });
  }
  uint64_t dropped() const { return dropped_; }

 private:
  // What makes events equal, and how often they came.
  struct Series {
    ObjectKey key;  // Of the Event in the API.
    int count = 1;
    Time last_wall;
    Clock::time_point last, written;
    bool is_on_its_way = false;  // A request runs.
    bool is_due = false;         // A write is timed, or waits for that request.
    bool is_stored = false;
    std::list<std::string>::iterator age;
  };
  struct Bucket {
    double tokens = 0;
    Clock::time_point filled;
    std::list<std::string>::iterator age;
  };

  void Handle(const Json& object, const std::string& identity, const std::string& about,
              EventWeight weight);
  bool TakeToken(const std::string& about);
  void CreateEvent(const Json& object, const std::string& identity);
  void Continue(const std::string& identity);
  void WriteSeries(const std::string& identity);
  void Wrote(const std::string& identity, bool was_new, const StatusOr<Json>& result);
  void Add(int difference);

  Client& client_;
  const EventRecorderOptions options_;
  std::atomic<uint64_t> dropped_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  int pending_ = 0;  // Handed over or on its way, and series that are due.

  bool is_stopped_ = false;
  uint64_t number_ = 0;
  std::map<std::string, Series> series_;
  std::list<std::string> series_by_age_;
  std::map<std::string, Bucket> buckets_;
  std::list<std::string> buckets_by_age_;
};

void EventRecorder::Writer::Add(int difference) {
  {
    std::lock_guard lock(mutex_);
    pending_ += difference;
  }
  changed_.notify_all();
}

void EventRecorder::Writer::Record(const Event& event) {
  {
    std::lock_guard lock(mutex_);
    if (pending_ >= options_.pending_max && event.weight == EventWeight::kOrdinary) {
      ++dropped_;
      return;
    }
    ++pending_;
  }
  const Json& regarding = event.regarding;
  const std::string name_space = Namespace(regarding);
  Json object = {{"apiVersion", "events.k8s.io/v1"},
                 {"kind", "Event"},
                 {"metadata", {{"namespace", name_space.empty() ? "default" : name_space}}},
                 {"type", event.type == EventType::kWarning ? "Warning" : "Normal"},
                 {"reason", Cut(event.reason, kWordBytesMax)},
                 {"action", Cut(event.action.empty() ? event.reason : event.action, kWordBytesMax)},
                 {"note", Cut(event.note, kNoteBytesMax)},
                 {"regarding", ReferenceTo(regarding)},
                 {"reportingController", options_.controller},
                 {"reportingInstance", Cut(options_.instance, kWordBytesMax)}};
  if (event.related.is_object()) object["related"] = ReferenceTo(event.related);
  const std::string about =
      fmt::format("{} {} {}", StringAt(regarding, "/kind"), KeyOf(regarding), Uid(regarding));
  std::string identity = fmt::format("{}\n{}\n{}\n{}\n{}", about, StringAt(object, "/type"),
                                     StringAt(object, "/reason"), StringAt(object, "/action"),
                                     StringAt(object, "/note"));
  const bool runs =
      client_.loop().Post([self = shared_from_this(), object = std::move(object),
                           identity = std::move(identity), about, weight = event.weight] {
        self->Handle(object, identity, about, weight);
        self->Add(-1);
      });
  if (!runs) Add(-1);
}

void EventRecorder::Writer::Handle(const Json& object, const std::string& identity,
                                   const std::string& about, EventWeight weight) {
  if (is_stopped_) return;
  const auto found = series_.find(identity);
  if (found != series_.end() && Clock::now() - found->second.last < options_.series_idle) {
    return Continue(identity);
  }
  if (!TakeToken(about) && weight == EventWeight::kOrdinary) {
    ++dropped_;
    return;
  }
  CreateEvent(object, identity);
}

bool EventRecorder::Writer::TakeToken(const std::string& about) {
  const Clock::time_point now = Clock::now();
  auto [entry, is_new] = buckets_.try_emplace(about);
  Bucket& bucket = entry->second;
  if (is_new) {
    bucket = {.tokens = static_cast<double>(options_.burst), .filled = now};
    bucket.age = buckets_by_age_.insert(buckets_by_age_.end(), about);
  } else {
    buckets_by_age_.splice(buckets_by_age_.end(), buckets_by_age_, bucket.age);
  }
  bucket.tokens += ToSeconds(now - bucket.filled) / ToSeconds(options_.refill);
  bucket.tokens = std::min(bucket.tokens, static_cast<double>(options_.burst));
  bucket.filled = now;
  const bool has_one = bucket.tokens >= 1;
  if (has_one) bucket.tokens -= 1;
  if (buckets_.size() > static_cast<size_t>(options_.objects_max)) {
    buckets_.erase(buckets_by_age_.front());
    buckets_by_age_.pop_front();
  }
  return has_one;
}

void EventRecorder::Writer::CreateEvent(const Json& object, const std::string& identity) {
  const Time wall = WallNow();
  Json event = object;
  event["metadata"]["name"] = EventName(StringAt(object, "/regarding/name"), wall, ++number_);
  event["eventTime"] = FormatTimeMicros(wall);
  auto [entry, is_new] = series_.try_emplace(identity);
  Series& series = entry->second;
  if (is_new) {
    series.age = series_by_age_.insert(series_by_age_.end(), identity);
  } else {
    if (series.is_due) Add(-1);  // Of the series that has gone idle.
    series_by_age_.splice(series_by_age_.end(), series_by_age_, series.age);
  }
  series.key = KeyOf(event);
  series.count = 1;
  series.last_wall = wall;
  series.last = series.written = Clock::now();
  series.is_due = false;
  series.is_stored = false;
  series.is_on_its_way = true;
  if (series_.size() > static_cast<size_t>(options_.objects_max)) {
    const auto oldest = series_.find(series_by_age_.front());
    if (oldest->second.is_due) Add(-1);
    series_.erase(oldest);
    series_by_age_.pop_front();
  }
  Add(1);
  Request request = Create(Events(), event, {.answer = Answer::kNothing});
  request.deadline = kWriteDeadline;
  client_.Start(std::move(request), [self = shared_from_this(), identity](StatusOr<Json> result) {
    self->Wrote(identity, true, result);
  });
}

void EventRecorder::Writer::Continue(const std::string& identity) {
  Series& series = series_.at(identity);
  ++series.count;
  series.last = Clock::now();
  series.last_wall = WallNow();
  series_by_age_.splice(series_by_age_.end(), series_by_age_, series.age);
  if (series.is_due) return;
  series.is_due = true;
  Add(1);
  if (series.is_on_its_way) return;  // Wrote goes on.
  // That there is a series is told at once, how long it is now and then.
  const Duration wait =
      series.count == 2 ? Duration(0) : options_.series_write - (Clock::now() - series.written);
  client_.loop().After(wait,
                       [self = shared_from_this(), identity] { self->WriteSeries(identity); });
}

void EventRecorder::Writer::WriteSeries(const std::string& identity) {
  const auto found = series_.find(identity);
  if (is_stopped_ || found == series_.end() || !found->second.is_due ||
      found->second.is_on_its_way) {
    return;
  }
  Series& series = found->second;
  series.is_due = false;
  series.is_on_its_way = true;  // Keeps the pending of is_due.
  series.written = Clock::now();
  const Json patch = {
      {"series",
       {{"count", series.count}, {"lastObservedTime", FormatTimeMicros(series.last_wall)}}}};
  Request request = MergePatch(Events(), series.key, patch, {.answer = Answer::kNothing});
  request.deadline = kWriteDeadline;
  client_.Start(std::move(request), [self = shared_from_this(), identity](StatusOr<Json> result) {
    self->Wrote(identity, false, result);
  });
}

void EventRecorder::Writer::Wrote(const std::string& identity, bool was_new,
                                  const StatusOr<Json>& result) {
  const auto found = series_.find(identity);
  if (found != series_.end()) {
    Series& series = found->second;
    series.is_on_its_way = false;
    if (!result.ok()) {
      // Events live an hour on the server, and a failed one is not there: the next starts anew.
      if (series.is_due) Add(-1);
      series_by_age_.erase(series.age);
      series_.erase(found);
    } else {
      series.is_stored = true;
      if (series.is_due) {
        const Duration wait = was_new ? Duration(0) : options_.series_write;
        client_.loop().After(
            wait, [self = shared_from_this(), identity] { self->WriteSeries(identity); });
      }
    }
  }
  if (!result.ok()) {
    ++dropped_;
    if (options_.failed && !is_stopped_) options_.failed(result.status());
  }
  Add(-1);
}

Status EventRecorder::Writer::Flush(Duration deadline) {
  PACELINE_CHECK(!client_.loop().IsLoopThread(), "the recorder cannot wait on the loop's thread");
  const auto until = Clock::now() + deadline;
  while (true) {
    // What is due is written now.
    client_.loop().RunAndWait([this] {
      std::vector<std::string> due;
      for (const auto& [identity, series] : series_) {
        if (series.is_due && !series.is_on_its_way) due.push_back(identity);
      }
      for (const std::string& identity : due) WriteSeries(identity);
    });
    std::unique_lock lock(mutex_);
    const int before = pending_;
    if (before == 0) return OkStatus();
    const bool moved = changed_.wait_until(lock, until, [&] { return pending_ != before; });
    if (!moved) return DeadlineExceeded("{} events are not written yet", pending_);
  }
}

EventRecorder::EventRecorder(Client& client, EventRecorderOptions options)
    : writer_(std::make_shared<Writer>(client, std::move(options))) {}

EventRecorder::~EventRecorder() { writer_->Stop(); }

void EventRecorder::Record(const Event& event) { writer_->Record(event); }
Status EventRecorder::Flush(Duration deadline) { return writer_->Flush(deadline); }
uint64_t EventRecorder::dropped() const { return writer_->dropped(); }

}  // namespace paceline::kube
