#include "lib/telemetry/host_text.h"

#include <gtest/gtest.h>

namespace paceline::telemetry {
namespace {

TEST(HostText, PutsAddressesOfIpv6IntoBracketsBeforeAPort) {
  EXPECT_EQ(HostPort("127.0.0.1", 80), "127.0.0.1:80");
  EXPECT_EQ(HostPort("localhost", 80), "localhost:80");
  EXPECT_EQ(HostPort("::1", 80), "[::1]:80");
  EXPECT_EQ(HostPort("[::1]", 80), "[::1]:80");
}

TEST(HostText, TakesWhatAMachineHas) {
  EXPECT_EQ(HostOf("127.0.0.1", Loopback::kHasIpv4), "127.0.0.1");
  EXPECT_EQ(HostOf("127.0.0.1", Loopback::kIpv6Alone), "::1");
  EXPECT_EQ(HostOf("127.0.0.2", Loopback::kIpv6Alone), "127.0.0.2");
  EXPECT_EQ(HostOf("[::1]", Loopback::kHasIpv4), "::1");
  EXPECT_EQ(HostOf("::1", Loopback::kHasIpv4), "::1");
  EXPECT_EQ(HostOf("[]", Loopback::kHasIpv4), "[]");
}

}  // namespace
}  // namespace paceline::telemetry
