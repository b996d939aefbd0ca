// What tests of certificates share, here and wherever certificates are used.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/tls/folder.h"
#include "lib/tls/issue.h"

namespace paceline::tls::testing {

inline CalendarTime Day(int day) {
  return std::chrono::sys_days(std::chrono::year(2030) / 1 / 1) + std::chrono::days(day);
}

inline const Validity kWholeYear{Day(0), Day(365)};

inline Credential Authority(const std::string& name = "test authority",
                            const Validity& validity = kWholeYear) {
  auto authority = MakeAuthority(name, validity);
  EXPECT_TRUE(authority.ok()) << authority.status();
  return *authority;
}

inline Credential Issued(const Credential& authority, const std::vector<std::string>& names,
                         const Validity& validity = {Day(10), Day(20)}) {
  auto issued = IssueCertificate(authority, names, validity);
  EXPECT_TRUE(issued.ok()) << issued.status();
  return *issued;
}

// For peers that read the real clock.
inline Validity Around(std::chrono::seconds before, std::chrono::seconds after) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {now - before, now + after};
}
inline const Validity kNow = Around(std::chrono::hours(1), std::chrono::hours(24));

// A folder as a process is given it, removed at the end.
class IssuedFolder {
 public:
  IssuedFolder() {
    std::string name = ::testing::TempDir() + "paceline-tls-XXXXXX";
    folder_.path = mkdtemp(name.data());
  }
  IssuedFolder(const Credential& authority, const std::string& name,
               const Validity& validity = kNow)
      : IssuedFolder() {
    Write(Issued(authority, {name}, validity), authority.certificate);
  }
  ~IssuedFolder() { std::filesystem::remove_all(folder_.path); }
  IssuedFolder(const IssuedFolder&) = delete;
  IssuedFolder& operator=(const IssuedFolder&) = delete;

  void Write(const Credential& credential, const std::string& authorities) const {
    WriteFile(folder_.key_file(), credential.key);
    WriteFile(folder_.certificate_file(), credential.certificate);
    WriteFile(folder_.authorities_file(), authorities);
  }

  const TlsFolder& folder() const { return folder_; }
  const std::string& path() const { return folder_.path; }

 private:
  static void WriteFile(const std::string& path, const std::string& text) {
    std::ofstream(path + ".partial") << text;
    std::filesystem::rename(path + ".partial", path);
  }

  TlsFolder folder_;
};

}  // namespace paceline::tls::testing
