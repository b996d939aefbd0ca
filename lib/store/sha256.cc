#include "lib/store/sha256.h"

#include <array>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/files/disk.h"

namespace paceline::store {
namespace {

constexpr size_t kReadBytes = 1 << 20;

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256(Meter* meter) : state_(std::make_unique<State>()), meter_(meter) {
  PACELINE_CHECK(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "no SHA-256 in this libcrypto");
}

Sha256::~Sha256() = default;

void Sha256::Add(std::span<const std::byte> bytes) {
  PACELINE_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
                 "SHA-256 failed on {} bytes", bytes.size());
  bytes_ += bytes.size();
  Count(meter_, bytes.size());
}

std::string Sha256::Finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  PACELINE_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1,
                 "SHA-256 failed after {} bytes", bytes_);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

StatusOr<FileDigest> DigestFile(const std::string& path, Meter* meter) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return files::FileError("open", path, errno);
  Sha256 sum(meter);
  std::vector<std::byte> buffer(kReadBytes);
  int error_number = 0;
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_number = errno;
    if (got <= 0) break;
    sum.Add(std::span(buffer).first(static_cast<size_t>(got)));
  }
  ::close(descriptor);
  if (error_number != 0) return files::FileError("read", path, error_number);
  const uint64_t bytes = sum.bytes();
  return FileDigest{bytes, sum.Finish()};
}

}  // namespace paceline::store
