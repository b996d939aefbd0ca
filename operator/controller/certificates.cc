#include "operator/controller/certificates.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
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
std::optional<Time> GoodUntil(const ReadSecret& read, const tls::Credential& authority,
                              const std::string& name, Time now) {
  if (read.authority_certificate != authority.certificate) return std::nullopt;
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

Certificates::Certificates(kube::Client* client, Clock clock)
    : client_(client), clock_(std::move(clock)) {}

StatusOr<Certificates::Ensured> Certificates::Ensure(const job::TrainingJob& job) {
  const std::string uid = job.metadata.uid.value_or("");
  const Time now = clock_();
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_uid_.find(uid);
    if (found != by_uid_.end() && now < found->second.look_again &&
        (found->second.has_evaluator || !HasEvaluator(job))) {
      return found->second;
    }
  }
  // Of a job that is new, as far as can be told, nothing is looked for first.
  PACELINE_ASSIGN_OR_RETURN(const All all, IsUntold(job.status) ? Create(job) : Complete(job));
  const Ensured ensured{
      .own = {.credential = all.own.credential, .authority_certificate = all.authority_certificate},
      .look_again = std::min(all.own.due, all.pods_due),
      .has_evaluator = HasEvaluator(job)};
  const std::lock_guard lock(mutex_);
  return by_uid_[uid] = ensured;
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

StatusOr<tls::Issuer> Certificates::MakeAuthority(const job::TrainingJob& job) const {
  return tls::Issuer::Make(fmt::format("paceline {}", job.metadata.name).substr(0, 64),
                           ValidFor(clock_(), kAuthorityLife));
}

StatusOr<Certificates::Held> Certificates::Issue(const job::TrainingJob& job, TlsRole role,
                                                 const tls::Issuer& issuer) const {
  const tls::Validity validity = ValidFor(clock_(), kRoleLife);
  PACELINE_ASSIGN_OR_RETURN(const tls::Credential issued,
                            issuer.Issue({TlsName(job, role)}, validity));
  return Held{.credential = issued, .due = DueAt(validity)};
}

// Created, never applied: of two operators that come at once, both use the authority that the first
// one made. Where anything is there already, what else is there may be of another authority.
StatusOr<Certificates::All> Certificates::Create(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer issuer, MakeAuthority(job));
  const tls::Credential& authority = issuer.credential();
  All all{.authority_certificate = authority.certificate};
  PACELINE_ASSIGN_OR_RETURN(all.own, Issue(job, TlsRole::kOperator, issuer));
  std::vector<kube::Request> requests = {
      kube::Create(kube::Secrets(), BuildAuthoritySecret(job, authority), kWithoutAnswer)};
  for (const TlsRole role : PodRolesOf(job)) {
    PACELINE_ASSIGN_OR_RETURN(const Held issued, Issue(job, role, issuer));
    all.pods_due = std::min(all.pods_due, issued.due);
    requests.push_back(kube::Create(
        kube::Secrets(), BuildTlsSecret(job, role, issued.credential, authority.certificate),
        kWithoutAnswer));
  }
  bool were_there = false;
  for (const StatusOr<kube::Json>& made : client_->CallAll(std::move(requests))) {
    if (made.ok()) continue;
    if (!IsAlreadyExists(made.status())) return made.status();
    were_there = true;
  }
  return were_there ? Complete(job) : all;
}

StatusOr<Certificates::All> Certificates::Complete(const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const tls::Credential authority, CompleteAuthority(job));
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer issuer, tls::Issuer::Of(authority));
  All all{.authority_certificate = authority.certificate};
  PACELINE_ASSIGN_OR_RETURN(all.own, Issue(job, TlsRole::kOperator, issuer));
  for (const TlsRole role : PodRolesOf(job)) {
    PACELINE_ASSIGN_OR_RETURN(const Time due, CompleteRole(job, role, issuer));
    all.pods_due = std::min(all.pods_due, due);
  }
  return all;
}

StatusOr<tls::Credential> Certificates::CompleteAuthority(const job::TrainingJob& job) {
  const std::string name = AuthoritySecretName(job);
  PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> read, Read(job, name));
  if (read) return read->credential;
  PACELINE_ASSIGN_OR_RETURN(const tls::Issuer made, MakeAuthority(job));
  const Status created =
      client_
          ->Call(kube::Create(kube::Secrets(), BuildAuthoritySecret(job, made.credential()),
                              kWithoutAnswer))
          .status();
  if (created.ok()) return made.credential();
  if (!IsAlreadyExists(created)) return created;
  PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> theirs, Read(job, name));
  if (!theirs) return FailedPrecondition("Secret {} holds no authority: delete it", name);
  return theirs->credential;
}

StatusOr<Time> Certificates::CompleteRole(const job::TrainingJob& job, TlsRole role,
                                          const tls::Issuer& issuer) {
  const tls::Credential& authority = issuer.credential();
  PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> read,
                            Read(job, TlsSecretName(job, role)));
  if (read) {
    if (const auto due = GoodUntil(*read, authority, TlsName(job, role), clock_())) return *due;
  }
  PACELINE_ASSIGN_OR_RETURN(const Held issued, Issue(job, role, issuer));
  PACELINE_RETURN_IF_ERROR(
      client_
          ->Call(kube::Apply(
              kube::Secrets(), BuildTlsSecret(job, role, issued.credential, authority.certificate),
              {.field_manager = kFieldManager, .force = true, .answer = kube::Answer::kNothing}))
          .status());
  return issued.due;
}

}  // namespace paceline::controller
