#include "cli/commands/fetch/model_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::commands {
namespace {

using ::testing::HasSubstr;

TEST(ModelServer, HttpsMayLeadAnywhereAndHttpToLoopback) {
  for (const char* url : {"https://models.example", "https://models.example:8443/research/digits",
                          "http://127.0.0.1:7602", "http://127.1.2.3:1", "http://localhost:7602/",
                          "http://[::1]:7602", "https://[2001:db8::1]:443/x"})
    EXPECT_EQ(ModelServer({.url = url}).value().server, url);
  for (const char* url :
       {"http://models.example", "http://10.0.0.1:7602", "http://128.0.0.1:7602",
        "http://127.0.0.1.example:7602", "http://localhost.example", "http://[2001:db8::1]:7602"}) {
    EXPECT_THAT(Message(ModelServer({.url = url}).status()), HasSubstr("want https")) << url;
    EXPECT_TRUE(ModelServer({.url = url, .plain_text = PlainText::kAnywhere}).ok()) << url;
  }
}

// Where another reader would see another host.
TEST(ModelServer, RefusesWhatIsNoAddress) {
  for (const char* url :
       {"", "models.example", "ftp://models.example", "http://", "https:///x", "http://:7602",
        "http://127.0.0.1@models.example", "http://127.0.0.1\\.models.example", "http://[",
        "http://127.0.0.1#.models.example", "https://models.example/?x=1", "http://127.0.0.1 "})
    EXPECT_THAT(Message(ModelServer({.url = url, .plain_text = PlainText::kAnywhere}).status()),
                HasSubstr("no address of a model"))
        << url;
}

TEST(ModelServer, WhatIsShownInPlainTextIsShownToNoProxy) {
  EXPECT_TRUE(ModelServer({.url = "http://127.0.0.1:7602"}).value().is_direct);
  EXPECT_FALSE(ModelServer({.url = "https://models.example"}).value().is_direct);
}

TEST(ModelServer, AnAuthorityIsForHttpsAndHasToBeThere) {
  EXPECT_THAT(
      Message(
          ModelServer({.url = "http://127.0.0.1:1", .certificate_authority = "ca.crt"}).status()),
      HasSubstr("--certificate-authority needs https"));
  EXPECT_EQ(ModelServer({.url = "https://a.example", .certificate_authority = "/no/ca.crt"})
                .status()
                .code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace paceline::commands
