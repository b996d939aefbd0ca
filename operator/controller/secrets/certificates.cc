#include "operator/controller/secrets/certificates.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/own_child.h"
#include "operator/controller/resources.h"
#include "operator/controller/status_writer.h"
#include "operator/objects/names.h"

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
      return other.role == one.role && other.group == one.group && other.number == one.number &&
             other.count >= one.count;
    });
  });
}

}  // namespace

Certificates::Certificates(kube::Client* client, Clock clock)
    : client_(client), clock_(std::move(clock)) {}

Status Certificates::Ensure(const job::TrainingJob& job, const std::string& seed, SecretLook look,
                            KnownCertificates& known, FormerJob& former) {
  std::vector<TlsBlock> blocks = TlsBlocksOf(job);
  if (clock_() < known.pods_due && Covers(known.blocks, blocks)) {
    if (look == SecretLook::kRemembered) return OkStatus();
    PACELINE_ASSIGN_OR_RETURN(const bool are_unchanged, AreUnchanged(job, known));
    if (are_unchanged) return OkStatus();
  }
  // Of a job that is new, as far as can be told, nothing is looked for first.
  const bool is_new = IsUnwritten(job.status) && known.blocks.empty();
  PACELINE_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(job, seed));
  PACELINE_ASSIGN_OR_RETURN(known.pods_due, is_new ? Create(job, stamp, blocks, known, former)
                                                   : Complete(job, stamp, blocks, known, former));
  known.blocks = std::move(blocks);
  return OkStatus();
}

StatusOr<bool> Certificates::AreUnchanged(const job::TrainingJob& job,
                                          const KnownCertificates& known) const {
  std::vector<kube::Request> requests;
  for (const TlsBlock& block : known.blocks) {
    const std::string name = TlsSecretName(job, block.role, block.number, block.group);
    if (!known.versions.contains(name)) return false;
    requests.push_back(kube::GetMetadata(
        kube::Secrets(),
        {job.metadata.name_space, TlsSecretName(job, block.role, block.number, block.group)}));
  }
  bool are_unchanged = true;
  for (const StatusOr<kube::Json>& secret : client_->CallAll(std::move(requests))) {
    if (!secret.ok() && !IsNotFound(secret.status())) return secret.status();
    if (!secret.ok()) return false;
    const auto version = known.versions.find(kube::Name(*secret));
    are_unchanged = are_unchanged && version != known.versions.end() &&
                    version->second == kube::ResourceVersion(*secret);
  }
  return are_unchanged;
}

StatusOr<OwnCredential> Certificates::Own(const job::TrainingJob& job, const std::string& seed,
                                          KnownCertificates& known) {
  if (clock_() < known.own_due) return known.own;
  PACELINE_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(job, seed));
  const tls::Validity validity = ValidFor(clock_(), kProcessLife);
  PACELINE_ASSIGN_OR_RETURN(
      tls::Credential issued,
      stamp.authority.Issue({TlsName(job, {.role = tls::Role::kOperator})}, validity));
  known.own_due = DueAt(validity);
  return known.own = {.credential = std::move(issued),
                      .authority_certificate = stamp.authority.certificate()};
}

// The same from its job's first day to its last, whoever asks.
StatusOr<Certificates::Stamp> Certificates::StampOf(const job::TrainingJob& job,
                                                    const std::string& seed) const {
  const std::string uid = job.metadata.uid.value_or("");
  const Time since = job.metadata.creation_timestamp.value_or(clock_());
  PACELINE_ASSIGN_OR_RETURN(std::string seal, SealFrom(seed, job));
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
    PACELINE_ASSIGN_OR_RETURN(
        tls::Credential one,
        authority.Issue({TlsName(job, {block.role, index, block.group})}, validity));
    issued.credentials.push_back(std::move(one));
  }
  return OkStatus();
}

// Created, never changed: where anything is there already, it may be good.
StatusOr<Time> Certificates::Create(const job::TrainingJob& job, const Stamp& stamp,
                                    const std::vector<TlsBlock>& blocks, KnownCertificates& known,
                                    FormerJob& former) {
  std::vector<kube::Request> requests;
  Time due = Time::max();
  for (const TlsBlock& block : blocks) {
    IssuedBlock issued;
    PACELINE_RETURN_IF_ERROR(Issue(job, block, stamp.authority, issued));
    due = std::min(due, issued.renew_at);
    kube::Json secret =
        BuildTlsSecret(job, block, issued, stamp.authority.certificate(), stamp.seal);
    LayUnder(secret, known.defaults);
    requests.push_back(kube::Create(kube::Secrets(), secret, kWithoutAnswer));
  }
  bool were_there = false;
  for (const StatusOr<kube::Json>& made : client_->CallAll(std::move(requests))) {
    if (made.ok()) continue;
    if (!IsAlreadyExists(made.status())) return made.status();
    were_there = true;
  }
  return were_there ? Complete(job, stamp, blocks, known, former) : due;
}

StatusOr<Time> Certificates::Complete(const job::TrainingJob& job, const Stamp& stamp,
                                      const std::vector<TlsBlock>& blocks, KnownCertificates& known,
                                      FormerJob& former) {
  Time due = Time::max();
  for (const TlsBlock& block : blocks) {
    PACELINE_ASSIGN_OR_RETURN(const Time block_due,
                              CompleteBlock(job, block, stamp, known, former));
    due = std::min(due, block_due);
  }
  return due;
}

// What is good stays as it is, but for its labels: pods show it; more of the same Secret than is
// wanted stays, too.
// What is damaged, due or another seed's is written anew, in place.
StatusOr<Time> Certificates::CompleteBlock(const job::TrainingJob& job, const TlsBlock& block,
                                           const Stamp& stamp, KnownCertificates& known,
                                           FormerJob& former) {
  const std::string name = TlsSecretName(job, block.role, block.number, block.group);
  PACELINE_ASSIGN_OR_RETURN(const FoundChild found,
                            FindChild(*client_, job, kube::Secrets(), name, former));
  known.versions.erase(name);
  if (found.is_in_the_way) return Time::min();
  const bool is_there = !found.live.is_null();
  IssuedBlock issued;
  if (is_there) {
    auto read = ReadTlsSecret(job, block, found.live, stamp.seal);
    if (read && IsGood(*read, clock_())) issued = *std::move(read);
  }
  if (issued.credentials.size() >= block.count) {
    kube::Json labels = {{"metadata", {{"labels", JobLabels(job)}}}};
    LayUnder(labels, known.defaults);
    PACELINE_RETURN_IF_ERROR(MendChild(*client_, kube::Secrets(), found.live, labels));
    // One that is being deleted is looked at again.
    if (!kube::IsBeingDeleted(found.live)) known.versions[name] = kube::ResourceVersion(found.live);
    return issued.renew_at;
  }
  PACELINE_RETURN_IF_ERROR(Issue(job, block, stamp.authority, issued));
  kube::Json wanted = BuildTlsSecret(job, block, issued, stamp.authority.certificate(), stamp.seal);
  LayUnder(wanted, known.defaults);
  PACELINE_RETURN_IF_ERROR(
      is_there ? MendChild(*client_, kube::Secrets(), found.live, wanted)
               : client_->Call(kube::Create(kube::Secrets(), wanted, kWithoutAnswer)).status());
  return issued.renew_at;
}

}  // namespace paceline::controller
