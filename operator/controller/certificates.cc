#include "operator/controller/certificates.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
#include "lib/tls/verify.h"
#include "operator/controller/resources.h"
#include "operator/controller/status_writer.h"

namespace paceline::controller {
namespace {

using std::chrono::hours;

constexpr hours kAuthorityLife{24 * 3650};
constexpr hours kRoleLife{24 * 90};
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

// When `read` is due, if it was issued by this authority for the role and is not yet.
std::optional<Time> GoodUntil(const ReadSecret& read, const std::string& authority,
                              const std::string& name, Time now) {
  if (!tls::AreSameAuthority(read.authority_certificate, authority) ||
      !tls::CheckCredential(read.credential).ok() ||
      !tls::VerifyCertificate(read.credential.certificate, authority, name, Calendar(now)).ok()) {
    return std::nullopt;
  }
  const StatusOr<tls::Certificate> certificate = tls::ReadCertificate(read.credential.certificate);
  const bool is_good = certificate.ok() &&
                       certificate->dns_names == std::vector<std::string>{name} &&
                       !tls::NeedsRenewal(certificate->validity, Calendar(now), kRenewAfter);
  return is_good ? std::optional(DueAt(certificate->validity)) : std::nullopt;
}

bool HasEvaluator(const job::TrainingJob& job) { return job.spec.evaluator.has_value(); }

std::vector<TlsRole> PodRolesOf(const job::TrainingJob& job) {
  std::vector<TlsRole> roles(std::begin(kPodTlsRoles), std::end(kPodTlsRoles));
  if (!HasEvaluator(job)) std::erase(roles, TlsRole::kEvaluator);
  return roles;
}

}  // namespace

Certificates::Certificates(kube::Client* client, std::string operator_namespace, Clock clock)
    : client_(client), clock_(std::move(clock)), seed_(client, std::move(operator_namespace)) {}

Status Certificates::Ensure(const job::TrainingJob& job) {
  const Known known = KnownOf(job);
  if (clock_() < known.pods_due && (known.has_evaluator || !HasEvaluator(job))) return OkStatus();
  // Of a job that is new, as far as can be told, nothing is looked for first.
  PACELINE_ASSIGN_OR_RETURN(const Time due, IsUntold(job.status) ? Create(job) : Complete(job));
  const std::lock_guard lock(mutex_);
  Known& now_known = by_uid_[job.metadata.uid.value_or("")];
  now_known.pods_due = due;
  now_known.has_evaluator = HasEvaluator(job);
  return OkStatus();
}

StatusOr<OwnCredential> Certificates::Own(const job::TrainingJob& job) {
  Known known = KnownOf(job);
  if (clock_() < known.own_due) return std::move(known.own);
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer authority, AuthorityOf(job));
  PACELINE_ASSIGN_OR_RETURN(Held issued, Issue(job, TlsRole::kOperator, authority));
  const std::lock_guard lock(mutex_);
  Known& now_known = by_uid_[job.metadata.uid.value_or("")];
  now_known.own_due = issued.due;
  return now_known.own = {.credential = std::move(issued.credential),
                          .authority_certificate = authority.certificate()};
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

// None if there is no such Secret or one of ours that lacks a part.
StatusOr<std::optional<ReadSecret>> Certificates::Read(const job::TrainingJob& job,
                                                       const std::string& name) {
  const StatusOr<kube::Json> secret =
      client_->Call(kube::Get(kube::Secrets(), {job.metadata.name_space, name}));
  if (IsNotFound(secret.status())) return std::nullopt;
  PACELINE_RETURN_IF_ERROR(secret.status());
  if (!IsControlledBy(*secret, job.metadata.uid.value_or(""))) {
    return FailedPrecondition(
        "Secret {} is there and belongs to somebody else; rename it or the job", name);
  }
  return ReadTlsSecret(job, *secret);
}

// The same from its job's first day to its last, whoever asks.
StatusOr<tls::Issuer> Certificates::AuthorityOf(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const std::string seed, seed_.Get());
  const Time since = job.metadata.creation_timestamp.value_or(clock_());
  return tls::Issuer::Derive(seed, job.metadata.uid.value_or(""),
                             fmt::format("paceline {}", job.metadata.name).substr(0, 64),
                             ValidFor(since, kAuthorityLife));
}

StatusOr<Certificates::Held> Certificates::Issue(const job::TrainingJob& job, TlsRole role,
                                                 const tls::Issuer& authority) const {
  const tls::Validity validity = ValidFor(clock_(), kRoleLife);
  PACELINE_ASSIGN_OR_RETURN(const tls::Credential issued,
                            authority.Issue({TlsName(job, role)}, validity));
  return Held{.credential = issued, .due = DueAt(validity)};
}

// Created, never applied: where anything is there already, it may be good.
StatusOr<Time> Certificates::Create(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer authority, AuthorityOf(job));
  std::vector<kube::Request> requests;
  Time due = Time::max();
  for (const TlsRole role : PodRolesOf(job)) {
    PACELINE_ASSIGN_OR_RETURN(const Held issued, Issue(job, role, authority));
    due = std::min(due, issued.due);
    requests.push_back(kube::Create(
        kube::Secrets(), BuildTlsSecret(job, role, issued.credential, authority.certificate()),
        kWithoutAnswer));
  }
  bool were_there = false;
  for (const StatusOr<kube::Json>& made : client_->CallAll(std::move(requests))) {
    if (made.ok()) continue;
    if (!IsAlreadyExists(made.status())) return made.status();
    were_there = true;
  }
  return were_there ? Complete(job) : due;
}

StatusOr<Time> Certificates::Complete(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer authority, AuthorityOf(job));
  Time due = Time::max();
  for (const TlsRole role : PodRolesOf(job)) {
    PACELINE_ASSIGN_OR_RETURN(const Time role_due, CompleteRole(job, role, authority));
    due = std::min(due, role_due);
  }
  return due;
}

StatusOr<Time> Certificates::CompleteRole(const job::TrainingJob& job, TlsRole role,
                                          const tls::Issuer& authority) {
  PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> read,
                            Read(job, TlsSecretName(job, role)));
  if (read) {
    if (const auto due = GoodUntil(*read, authority.certificate(), TlsName(job, role), clock_()))
      return *due;
  }
  PACELINE_ASSIGN_OR_RETURN(const Held issued, Issue(job, role, authority));
  PACELINE_RETURN_IF_ERROR(
      client_
          ->Call(kube::Apply(
              kube::Secrets(),
              BuildTlsSecret(job, role, issued.credential, authority.certificate()),
              {.field_manager = kFieldManager, .force = true, .answer = kube::Answer::kNothing}))
          .status());
  return issued.due;
}

}  // namespace paceline::controller
