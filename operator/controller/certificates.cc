#include "operator/controller/certificates.h"

#include <algorithm>
#include <chrono>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/metadata.h"
#include "lib/tls/certificate.h"
#include "lib/tls/issue.h"
#include "operator/controller/resources.h"

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

// Whether `read` was issued by this authority for the role and is not due.
bool IsGood(const ReadSecret& read, const tls::Credential& authority, const std::string& name,
            Time now) {
  if (read.authority_certificate != authority.certificate) return false;
  const StatusOr<tls::Certificate> certificate = tls::ReadCertificate(read.credential.certificate);
  return certificate.ok() && certificate->dns_names == std::vector<std::string>{name} &&
         !tls::NeedsRenewal(certificate->validity, Calendar(now), kRenewAfter);
}

bool HasEvaluator(const job::TrainingJob& job) { return job.spec.evaluator.has_value(); }

std::vector<TlsRole> RolesOf(const job::TrainingJob& job) {
  std::vector<TlsRole> roles(std::begin(kTlsRoles), std::end(kTlsRoles));
  if (!HasEvaluator(job)) std::erase(roles, TlsRole::kEvaluator);
  return roles;
}

// Whether nothing has been made for it yet, as far as can be told: then it is not read first.
bool IsNew(const job::TrainingJob& job) { return job.status.conditions.empty(); }

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
  PACELINE_ASSIGN_OR_RETURN(const tls::Credential authority, EnsureAuthority(job));
  PACELINE_ASSIGN_OR_RETURN(const auto reads,
                            IsNew(job) ? CreateRoles(job, authority) : EnsureRoles(job, authority));
  Ensured ensured{.own = {}, .look_again = Time::max(), .has_evaluator = HasEvaluator(job)};
  for (const auto& [role, read] : reads) {
    PACELINE_ASSIGN_OR_RETURN(const tls::Certificate certificate,
                              tls::ReadCertificate(read.credential.certificate));
    ensured.look_again = std::min(ensured.look_again, DueAt(certificate.validity));
    if (role == TlsRole::kOperator)
      ensured.own = {.credential = read.credential,
                     .authority_certificate = read.authority_certificate};
  }
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

StatusOr<tls::Credential> Certificates::EnsureAuthority(const job::TrainingJob& job) {
  const std::string name = AuthoritySecretName(job);
  if (!IsNew(job)) {
    PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> read, Read(job, name));
    if (read) return read->credential;
  }
  PACELINE_ASSIGN_OR_RETURN(
      const tls::Credential made,
      tls::MakeAuthority(fmt::format("paceline {}", job.metadata.name).substr(0, 64),
                         ValidFor(clock_(), kAuthorityLife)));
  // Created, never applied: of two operators that come at once, both use what the first one made.
  const Status created =
      client_->Call(kube::Create(kube::Secrets(), BuildAuthoritySecret(job, made), kWithoutAnswer))
          .status();
  if (created.ok()) return made;
  if (!IsAlreadyExists(created)) return created;
  PACELINE_ASSIGN_OR_RETURN(const std::optional<ReadSecret> theirs, Read(job, name));
  if (!theirs) return FailedPrecondition("Secret {} holds no authority: delete it", name);
  return theirs->credential;
}

StatusOr<ReadSecret> Certificates::Issue(const job::TrainingJob& job, TlsRole role,
                                         const tls::Credential& authority) const {
  PACELINE_ASSIGN_OR_RETURN(
      const tls::Credential issued,
      tls::IssueCertificate(authority, {TlsName(job, role)}, ValidFor(clock_(), kRoleLife)));
  return ReadSecret{.credential = issued, .authority_certificate = authority.certificate};
}

StatusOr<std::map<TlsRole, ReadSecret>> Certificates::CreateRoles(
    const job::TrainingJob& job, const tls::Credential& authority) {
  const std::vector<TlsRole> roles = RolesOf(job);
  std::map<TlsRole, ReadSecret> made;
  std::vector<kube::Request> requests;
  for (const TlsRole role : roles) {
    PACELINE_ASSIGN_OR_RETURN(made[role], Issue(job, role, authority));
    requests.push_back(kube::Create(
        kube::Secrets(), BuildTlsSecret(job, role, made[role].credential, authority.certificate),
        kWithoutAnswer));
  }
  const std::vector<StatusOr<kube::Json>> answers = client_->CallAll(std::move(requests));
  for (size_t i = 0; i < roles.size(); ++i) {
    if (answers[i].ok()) continue;
    if (!IsAlreadyExists(answers[i].status())) return answers[i].status();
    PACELINE_ASSIGN_OR_RETURN(made[roles[i]], EnsureRole(job, roles[i], authority));
  }
  return made;
}

StatusOr<std::map<TlsRole, ReadSecret>> Certificates::EnsureRoles(
    const job::TrainingJob& job, const tls::Credential& authority) {
  std::map<TlsRole, ReadSecret> ensured;
  for (const TlsRole role : RolesOf(job)) {
    PACELINE_ASSIGN_OR_RETURN(ensured[role], EnsureRole(job, role, authority));
  }
  return ensured;
}

StatusOr<ReadSecret> Certificates::EnsureRole(const job::TrainingJob& job, TlsRole role,
                                              const tls::Credential& authority) {
  PACELINE_ASSIGN_OR_RETURN(std::optional<ReadSecret> read, Read(job, TlsSecretName(job, role)));
  if (read && IsGood(*read, authority, TlsName(job, role), clock_())) return *std::move(read);
  PACELINE_ASSIGN_OR_RETURN(ReadSecret issued, Issue(job, role, authority));
  PACELINE_RETURN_IF_ERROR(
      client_
          ->Call(kube::Apply(
              kube::Secrets(), BuildTlsSecret(job, role, issued.credential, authority.certificate),
              {.field_manager = kFieldManager, .force = true, .answer = kube::Answer::kNothing}))
          .status());
  return issued;
}

}  // namespace paceline::controller
