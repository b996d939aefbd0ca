// What the tests of certificates share.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/tls/issue.h"

namespace paceline::tls::testing {

inline CalendarTime Day(int day) {
  return std::chrono::sys_days(std::chrono::year(2030) / 1 / 1) + std::chrono::days(day);
}

inline const Validity kWholeYear{Day(0), Day(365)};

inline Credential Authority(const std::string& name = "test authority") {
  auto authority = MakeAuthority(name, kWholeYear);
  EXPECT_TRUE(authority.ok()) << authority.status();
  return *authority;
}

inline Credential Issued(const Credential& authority, const std::vector<std::string>& names,
                         const Validity& validity = {Day(10), Day(20)}) {
  auto issued = IssueCertificate(authority, names, validity);
  EXPECT_TRUE(issued.ok()) << issued.status();
  return *issued;
}

}  // namespace paceline::tls::testing
