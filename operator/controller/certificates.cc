#include "operator/controller/certificates.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/derived_secret.h"
#include "operator/controller/resources.h"
#include "operator/controller/status_writer.h"

namespace paceline::controller {
namespace {

using std::chrono::hours;

constexpr hours kAuthorityLife{24 * 3650};
constexpr hours kProcessLife{24 * 90};
constexpr hours kEarlier{1};  // Clocks of two machines differ.
constexpr double kRenewAfter = 2.0 / 3;

const kube::WriteOptions kWithoutAnswer{.field_manager = kFieldManager,
                                        .answer = kube::Answer::kNothing};

tls::CalendarTime Calendar(Time time) {
  return tls::CalendarTime(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()));
}

Time FromCalendar(tls::CalendarTime time) { return Time(time.time_since_epoch()); }

tls::Validity ValidFor(Time now, hours life) {
  return {.not_before = Calendar(now) - kEarlier, .not_after = Calendar(now) + life};
}

// When the certificate is due.
Time DueAt(const tls::Validity& validity) {
  const auto life = validity.not_after - validity.not_before;
  return FromCalendar(validity.not_before +
                      std::chrono::floor<std::chrono::seconds>(life * kRenewAfter));
}

// Not yet due, and not of a clock that went wrong.
bool IsGood(const IssuedBlock& block, Time now) {
  return now < block.renew_at && block.renew_at <= DueAt(ValidFor(now, kProcessLife));
}

bool Covers(const std::vector<TlsBlock>& blocks, const std::vector<TlsBlock>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const TlsBlock& one) {
    return std::any_of(blocks.begin(), blocks.end(), [&](const TlsBlock& other) {
      return other.role == one.role && other.number == one.number && other.count >= one.count;
    });
  });
}

}  // namespace

Certificates::Certificates(kube::Client* client, AuthoritySeed* seed, Clock clock)
    : client_(client), seed_(seed), clock_(std::move(clock)) {}

Status Certificates::Ensure(const job::TrainingJob& job) {
  const Known known = KnownOf(job);
  std::vector<TlsBlock> blocks = TlsBlocksOf(job);
  if (clock_() < known.pods_due && Covers(known.blocks, blocks)) return OkStatus();
  // Of a job that is new, as far as can be told, nothing is looked for first.
  const bool is_new = IsUntold(job.status) && known.blocks.empty();
  PACELINE_ASSIGN_OR_RETURN(const Time due, is_new ? Create(job, blocks) : Complete(job, blocks));
  const std::lock_guard lock(mutex_);
  Known& now_known = by_uid_[job.metadata.uid.value_or("")];
  now_known.pods_due = due;
  now_known.blocks = std::move(blocks);
  return OkStatus();
}

StatusOr<OwnCredential> Certificates::Own(const job::TrainingJob& job) {
  Known known = KnownOf(job);
  if (clock_() < known.own_due) return std::move(known.own);
  PACELINE_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(job));
  const tls::Validity validity = ValidFor(clock_(), kProcessLife);
  PACELINE_ASSIGN_OR_RETURN(
      tls::Credential issued,
      stamp.authority.Issue({TlsName(job, {.role = tls::Role::kOperator})}, validity));
  const std::lock_guard lock(mutex_);
  Known& now_known = by_uid_[job.metadata.uid.value_or("")];
  now_known.own_due = DueAt(validity);
  return now_known.own = {.credential = std::move(issued),
                          .authority_certificate = stamp.authority.certificate()};
}

Certificates::Known Certificates::KnownOf(const job::TrainingJob& job) {
  const std::lock_guard lock(mutex_);
  const auto found = by_uid_.find(job.metadata.uid.value_or(""));
  return found == by_uid_.end() ? Known{} : found->second;
}

void Certificates::Forget(const std::string& job_uid) {
  const std::lock_guard lock(mutex_);
  by_uid_.erase(job_uid);
}

// None if there is no such Secret or one of ours that was damaged or another seed's.
StatusOr<std::optional<IssuedBlock>> Certificates::Read(const job::TrainingJob& job,
                                                        const TlsBlock& block, const Stamp& stamp) {
  const std::string name = TlsSecretName(job, block.role, block.number);
  const StatusOr<kube::Json> secret =
      client_->Call(kube::Get(kube::Secrets(), {job.metadata.name_space, name}));
  if (IsNotFound(secret.status())) return std::nullopt;
  PACELINE_RETURN_IF_ERROR(secret.status());
  if (!IsControlledBy(*secret, job.metadata.uid.value_or(""))) {
    return FailedPrecondition(
        "Secret {} is there and belongs to somebody else; rename it or the job", name);
  }
  return ReadTlsSecret(job, block.role, block.number, *secret, stamp.seal);
}

// The same from its job's first day to its last, whoever asks.
StatusOr<Certificates::Stamp> Certificates::StampOf(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const std::string seed, seed_->Get());
  const std::string uid = job.metadata.uid.value_or("");
  const Time since = job.metadata.creation_timestamp.value_or(clock_());
  PACELINE_ASSIGN_OR_RETURN(std::string seal, tls::DeriveSecret(seed, "seal/" + uid));
  PACELINE_ASSIGN_OR_RETURN(
      tls::Issuer authority,
      tls::Issuer::Derive(seed, uid, fmt::format("paceline {}", job.metadata.name).substr(0, 64),
                          ValidFor(since, kAuthorityLife)));
  return Stamp{.authority = std::move(authority), .seal = std::move(seal)};
}

Status Certificates::Issue(const job::TrainingJob& job, const TlsBlock& block,
                           const tls::Issuer& authority, IssuedBlock& issued) const {
  if (issued.credentials.size() >= block.count) return OkStatus();
  const tls::Validity validity = ValidFor(clock_(), kProcessLife);
  issued.renew_at =
      issued.credentials.empty() ? DueAt(validity) : std::min(issued.renew_at, DueAt(validity));
  while (issued.credentials.size() < block.count) {
    const uint64_t index = block.first() + issued.credentials.size();
    PACELINE_ASSIGN_OR_RETURN(tls::Credential one,
                              authority.Issue({TlsName(job, {block.role, index})}, validity));
    issued.credentials.push_back(std::move(one));
  }
  return OkStatus();
}

// Created, never applied: where anything is there already, it may be good.
StatusOr<Time> Certificates::Create(const job::TrainingJob& job,
                                    const std::vector<TlsBlock>& blocks) {
  PACELINE_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(job));
  std::vector<kube::Request> requests;
  Time due = Time::max();
  for (const TlsBlock& block : blocks) {
    IssuedBlock issued;
    PACELINE_RETURN_IF_ERROR(Issue(job, block, stamp.authority, issued));
    due = std::min(due, issued.renew_at);
    requests.push_back(kube::Create(kube::Secrets(),
                                    BuildTlsSecret(job, block.role, block.number, issued,
                                                   stamp.authority.certificate(), stamp.seal),
                                    kWithoutAnswer));
  }
  bool were_there = false;
  for (const StatusOr<kube::Json>& made : client_->CallAll(std::move(requests))) {
    if (made.ok()) continue;
    if (!IsAlreadyExists(made.status())) return made.status();
    were_there = true;
  }
  return were_there ? Complete(job, blocks) : due;
}

StatusOr<Time> Certificates::Complete(const job::TrainingJob& job,
                                      const std::vector<TlsBlock>& blocks) {
  PACELINE_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(job));
  Time due = Time::max();
  for (const TlsBlock& block : blocks) {
    PACELINE_ASSIGN_OR_RETURN(const Time block_due, CompleteBlock(job, block, stamp));
    due = std::min(due, block_due);
  }
  return due;
}

// What is good stays as it is, pods show it; more of the same Secret than is wanted stays, too.
StatusOr<Time> Certificates::CompleteBlock(const job::TrainingJob& job, const TlsBlock& block,
                                           const Stamp& stamp) {
  PACELINE_ASSIGN_OR_RETURN(std::optional<IssuedBlock> read, Read(job, block, stamp));
  IssuedBlock issued;
  if (read && IsGood(*read, clock_())) issued = *std::move(read);
  if (issued.credentials.size() >= block.count) return issued.renew_at;
  PACELINE_RETURN_IF_ERROR(Issue(job, block, stamp.authority, issued));
  PACELINE_RETURN_IF_ERROR(
      client_
          ->Call(kube::Apply(
              kube::Secrets(),
              BuildTlsSecret(job, block.role, block.number, issued, stamp.authority.certificate(),
                             stamp.seal),
              {.field_manager = kFieldManager, .force = true, .answer = kube::Answer::kNothing}))
          .status());
  return issued.renew_at;
}

}  // namespace paceline::controller
