#include "lib/tls/sessions.h"

#include <array>
#include <mutex>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "lib/tls/openssl.h"

namespace paceline::tls {
namespace {

// The parsed files of a folder.
struct Material {
  std::vector<X509Certificate> chain;
  Key key;
  X509Store authorities;
};

StatusOr<std::shared_ptr<const Material>> LoadMaterial(const TlsFolder& folder) {
  PACELINE_ASSIGN_OR_RETURN(const TlsFiles files, ReadTlsFolder(folder));
  auto material = std::make_shared<Material>();
  PACELINE_ASSIGN_OR_RETURN(material->chain, ParseCertificates(files.credential.certificate));
  PACELINE_ASSIGN_OR_RETURN(material->key, ParseKey(files.credential.key));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<X509Certificate> authorities,
                            ParseCertificates(files.authorities));
  material->authorities.reset(X509_STORE_new());
  for (const X509Certificate& authority : authorities)
    X509_STORE_add_cert(material->authorities.get(), authority.get());
  return std::shared_ptr<const Material>(std::move(material));
}

// Changes with the file, also where a link is turned to another folder, as in mounted Secrets.
struct Stamp {
  std::array<int64_t, 5> values{};
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

Stamp StampOf(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {{static_cast<int64_t>(found.st_dev), static_cast<int64_t>(found.st_ino),
           found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size}};
}

Status SetCommon(SSL_CTX* context, int verify_mode) {
  SSL_CTX_set_verify(context, verify_mode, nullptr);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return OpenSslError("cannot set up TLS");
  return OkStatus();
}

}  // namespace

struct ServerIdentity::Files {
  TlsFolder folder;
  std::function<void(const std::string&)> refused;
  std::mutex mutex;
  std::array<Stamp, 3> stamps;
  std::shared_ptr<const Material> material;

  std::shared_ptr<const Material> Current() {
    const std::array<Stamp, 3> now = {StampOf(folder.certificate_file()),
                                      StampOf(folder.key_file()),
                                      StampOf(folder.authorities_file())};
    std::lock_guard lock(mutex);
    if (now == stamps) return material;
    if (auto loaded = LoadMaterial(folder); loaded.ok()) {
      material = *std::move(loaded);
      stamps = now;
    } else {
      refused(Message(loaded.status()));  // Half-written files are whole at the next handshake.
    }
    return material;
  }

  // Called within a handshake, before the certificate is shown.
  static int Use(SSL* session, void* files) {
    const std::shared_ptr<const Material> material = static_cast<Files*>(files)->Current();
    if (SSL_use_certificate(session, material->chain.front().get()) != 1 ||
        SSL_use_PrivateKey(session, material->key.get()) != 1 ||
        SSL_set1_verify_cert_store(session, material->authorities.get()) != 1) {
      return 0;
    }
    for (size_t at = 1; at < material->chain.size(); ++at)
      SSL_add1_chain_cert(session, material->chain[at].get());
    return 1;
  }

  static void Tell(const SSL* session, int where, int result) {
    // Without an error it only waits for more bytes.
    if ((where & SSL_CB_EXIT) == 0 || result > 0 || ERR_peek_error() == 0) return;
    auto* const files = static_cast<Files*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(session)));
    const long verified = SSL_get_verify_result(session);
    const char* const reason = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                                     : ERR_reason_error_string(ERR_peek_error());
    files->refused(fmt::format("handshake failed: {}", reason == nullptr ? "unknown" : reason));
  }
};

ServerIdentity::ServerIdentity(std::unique_ptr<Files> files) : files_(std::move(files)) {}
ServerIdentity::~ServerIdentity() = default;

StatusOr<std::unique_ptr<ServerIdentity>> ServerIdentity::Load(
    const TlsFolder& folder, std::function<void(const std::string&)> refused) {
  auto files = std::make_unique<Files>();
  files->folder = folder;
  files->refused = std::move(refused);
  PACELINE_ASSIGN_OR_RETURN(files->material, LoadMaterial(folder));
  return std::unique_ptr<ServerIdentity>(new ServerIdentity(std::move(files)));
}

Status ServerIdentity::SetUp(ssl_ctx_st* context) {
  PACELINE_RETURN_IF_ERROR(SetCommon(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT));
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_app_data(context, files_.get());
  SSL_CTX_set_cert_cb(context, &Files::Use, files_.get());
  SSL_CTX_set_info_callback(context, &Files::Tell);
  return OkStatus();
}

Status SetUpClient(ssl_ctx_st* context, const TlsFolder& folder, const std::string& peer_name) {
  PACELINE_ASSIGN_OR_RETURN(const auto material, LoadMaterial(folder));
  PACELINE_RETURN_IF_ERROR(SetCommon(context, SSL_VERIFY_PEER));
  if (SSL_CTX_use_certificate(context, material->chain.front().get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, material->key.get()) != 1) {
    return OpenSslError("cannot set up TLS");
  }
  for (size_t at = 1; at < material->chain.size(); ++at)
    SSL_CTX_add1_chain_cert(context, material->chain[at].get());
  SSL_CTX_set1_cert_store(context, material->authorities.get());
  X509_VERIFY_PARAM* const want = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(
      want, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
  X509_VERIFY_PARAM_set1_host(want, peer_name.data(), peer_name.size());
  return OkStatus();
}

std::vector<std::string> PeerDnsNames(const ssl_st* session) {
  const X509* const peer = session == nullptr ? nullptr : SSL_get0_peer_certificate(session);
  return peer == nullptr ? std::vector<std::string>() : DnsNames(peer);
}

std::string TakeError() {
  const unsigned long code = ERR_peek_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "" : reason;
}

}  // namespace paceline::tls
