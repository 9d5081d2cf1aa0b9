// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/response.hpp"

#include "render/json/parts.hpp"
#include "text/printable.hpp"

namespace iotrail::serve {

namespace {

std::string_view phrase_of(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 301:
    return "Moved Permanently";
  case 400:
    return "Bad Request";
  case 403:
    return "Forbidden";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 408:
    return "Request Timeout";
  case 411:
    return "Length Required";
  case 413:
    return "Content Too Large";
  case 431:
    return "Request Header Fields Too Large";
  case 503:
    return "Service Unavailable";
  case 504:
    return "Gateway Timeout";
  default:
    return "Error";
  }
}

} // namespace

Response error_response(int status, std::string_view why) {
  Response response{.status = status};
  output::Sink sink(response.body);
  sink.put("{\"error\":");
  output::put_json_text(sink, output::printable_lines(why));
  sink.put("}\n");
  (void)sink.finish(); // a string cannot fail
  return response;
}

Response error_response(int status, const Error& error) {
  return error_response(status, error.message());
}

std::string to_http(const Response& response, bool with_body) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "Cache-Control: no-store\r\nContent-Security-Policy: {}; frame-ancestors 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n",
      response.status, phrase_of(response.status), response.type, response.body.size(),
      response.policy);
  if (!response.location.empty())
    text += fmt::format("Location: {}\r\n", response.location);
  if (response.status == 405)
    text += fmt::format("Allow: {}\r\n", response.allowed);
  if (response.status == 503)
    text += "Retry-After: 5\r\n";
  text += "\r\n";
  return with_body ? text + response.body : text;
}

} // namespace iotrail::serve
