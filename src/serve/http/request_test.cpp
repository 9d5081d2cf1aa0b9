// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/request.hpp"

#include <gtest/gtest.h>

namespace iotrail::serve {

namespace {

int status_of(std::string_view head) {
  const auto request = parse_head(head);
  return request ? 200 : request.error().status;
}

} // namespace

TEST(RequestHead, path_and_query_are_decoded_once) {
  const auto request =
      parse_head("GET /a%20b/%2e%2e/%2525/?x=1%262&y= HTTP/1.1\r\nHost: h:1\r\nX-A:\t v \r\n");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, (std::vector<std::string>{"a b", "..", "%25", ""}));
  EXPECT_EQ(request->query.at("x"), "1&2");
  EXPECT_EQ(request->query.at("y"), "");
  EXPECT_EQ(request->header("host"), "h:1");
  EXPECT_EQ(request->header("x-a"), "v");
}

TEST(RequestHead, what_is_not_plainly_right_is_refused) {
  for (const char* head : {"",
                           "GET",
                           "GET /",
                           "GET / HTTP/2",
                           "GET / HTTP/1.1 ",
                           "G T / HTTP/1.1",
                           " / HTTP/1.1",
                           "GET http://x/ HTTP/1.1",
                           "GET a HTTP/1.1",
                           "GET /%00 HTTP/1.1",
                           "GET /%g0 HTTP/1.1",
                           "GET /%2 HTTP/1.1",
                           "GET /%-1 HTTP/1.1",
                           "GET /\x01 HTTP/1.1",
                           "GET /?a=1&a=2 HTTP/1.1",
                           "GET /#a HTTP/1.1",
                           "GET / HTTP/1.1\r\nHost",
                           "GET / HTTP/1.1\r\nHost : a",
                           "GET / HTTP/1.1\r\nHost: a\r\nHOST: b",
                           "GET / HTTP/1.1\r\n folded: a",
                           "GET / HTTP/1.1\r\nA: b\nc: d",
                           "POST / HTTP/1.1\r\nContent-Length: 1x",
                           "POST / HTTP/1.1\r\nContent-Length: -1",
                           "POST / HTTP/1.1\r\nContent-Length: +1",
                           "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2"})
    EXPECT_EQ(status_of(head), 400) << head;
}

TEST(RequestHead, a_body_is_limited) {
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 65536"), 200);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 65537"), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999"), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked"), 411);
}

TEST(RequestHead, headers_are_limited) {
  std::string head = "GET / HTTP/1.1";
  for (int i = 0; i < 64; ++i)
    head += "\r\nh" + std::to_string(i) + ": x";
  EXPECT_EQ(status_of(head), 200);
  EXPECT_EQ(status_of(head + "\r\nlast: x"), 400);
}

TEST(RequestHead, a_segment_comes_back_as_it_was) {
  for (const std::string text :
       {"a b", "..", ".", "\"<&'>", "100%", "/etc/passwd", "\xff\xc3\xa9", "~2"}) {
    const std::string encoded = percent_encoded(text);
    EXPECT_EQ(encoded.find_first_of(" <>\"'&/?#"), encoded.npos);
    const auto request = parse_head("GET /" + encoded + " HTTP/1.1");
    ASSERT_TRUE(request.has_value());
    EXPECT_EQ(request->path, std::vector<std::string>{text});
  }
}

} // namespace iotrail::serve
