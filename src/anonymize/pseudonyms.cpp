// SPDX-License-Identifier: BSD-3-Clause
#include "anonymize/pseudonyms.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <nettle/hmac.h>

namespace iotrail::anonymize {
namespace {

constexpr std::size_t kWordsRemembered = 1U << 16U;
constexpr std::size_t kWordLetters =
    12; // 58 bits: of a million names, two meet by a chance of 1e-6
// Without vowels, so that a pseudonym is hardly ever a word.
constexpr std::string_view kConsonants = "bcdfghjklmnpqrstvwxz";
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz0123456789";

constexpr std::size_t kPathBytesMost = 4096; // the kernel cuts a path there
constexpr std::size_t kTextBytesMost = (1U << 16U) - 1;
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::string_view kCut = "...";

// Names that the kernel gives, and those by which views know files without data.
constexpr auto kKernelNames =
    std::to_array<std::string_view>({"", ".", "..", "dev", "proc", "sys", "self", "thread-self",
                                     "fd", "null", "zero", "full", "random", "urandom"});
constexpr auto kPseudoFiles =
    std::to_array<std::string_view>({"pipe:", "socket:", "anon_inode:", "memory:"});

// Longer than any extension that is kept by its length alone.
constexpr auto kLongExtensions = std::to_array<std::string_view>(
    {"ibtmp",      "bench",       "blocks",     "class",       "config",      "db-journal",
     "db-shm",     "db-wal",      "duckdb",     "feather",     "index",       "iotrail",
     "journal",    "mount",       "xapian",     "parquet",     "patch",       "pickle",
     "scope",      "service",     "shard",      "slice",       "socket",      "sqlite",
     "sqlite-shm", "sqlite-wal",  "sqlite3",    "swift",       "tfrecord",    "sqlite-journal",
     "ibdata",     "safetensors", "checkpoint", "sqlite3-wal", "sqlite3-shm", "sqlite3-journal"});
constexpr std::size_t kExtensionBytesMost = 4;
// A name may end in several of these, as in libz.so.1.2 and a.tar.gz.
constexpr auto kInnerExtensions = std::to_array<std::string_view>({"so", "tar"});

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <class List> bool has(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != std::end(list);
}

bool is_extension(std::string_view text) {
  return (!text.empty() && text.size() <= kExtensionBytesMost &&
          std::ranges::all_of(text, is_letter_or_digit)) ||
         has(kLongExtensions, text);
}

bool is_inner_extension(std::string_view text) {
  return has(kInnerExtensions, text) || (!text.empty() && text.size() < kExtensionBytesMost &&
                                         std::ranges::all_of(text, is_digit));
}

// Where the extensions of a name begin, with their dot.
std::size_t extensions_of(std::string_view name) {
  std::size_t end = name.size();
  while (true) {
    const std::size_t dot = name.substr(0, end).rfind('.');
    if (dot == std::string_view::npos || dot == 0)
      return end;
    const std::string_view extension = name.substr(dot + 1, end - dot - 1);
    if (end == name.size() ? !is_extension(extension) : !is_inner_extension(extension))
      return end;
    end = dot;
  }
}

// "10.0.0.7:80" and "[::1]:80": the bytes of the address before its port. nullopt: no address.
std::optional<std::size_t> address_bytes(std::string_view text) {
  std::size_t end = text.size();
  if (const std::size_t colon = text.rfind(':');
      colon != std::string_view::npos && colon + 1 < text.size() &&
      std::ranges::all_of(text.substr(colon + 1), is_digit))
    end = colon;
  const std::string_view host = text.substr(0, end);
  const auto consists_of = [&](std::string_view part, std::string_view letters) {
    return part.find_first_not_of(letters) == std::string_view::npos;
  };
  if (std::ranges::count(host, '.') == 3 && consists_of(host, "0123456789."))
    return end;
  if (host.starts_with('[') && host.ends_with(']') && host.find(':') != std::string_view::npos)
    return end;
  if (std::ranges::count(text, ':') >= 2 && consists_of(text, "0123456789abcdefABCDEF:."))
    return text.size();
  return std::nullopt;
}

// "pipe:[7]", "anon_inode:[eventfd]", "anon_inode:inotify"
bool is_pseudo_file(std::string_view text) {
  const auto* found = std::ranges::find_if(
      kPseudoFiles, [&](std::string_view prefix) { return text.starts_with(prefix); });
  if (found == kPseudoFiles.end())
    return false;
  const std::string_view rest = text.substr(found->size());
  if (*found == "pipe:" || *found == "socket:")
    return rest.size() > 2 && rest.front() == '[' && rest.back() == ']' &&
           std::ranges::all_of(rest.substr(1, rest.size() - 2), is_digit);
  constexpr auto kNames = std::to_array<std::string_view>(
      {"", "[eventfd]", "[eventpoll]", "[io_uring]", "[timerfd]", "[signalfd]", "[perf_event]",
       "[pidfd]", "[userfaultfd]", "[fanotify]", "inotify", "bpf-map", "bpf-prog", "bpf_link",
       "[stream]"});
  return has(kNames, rest);
}

// What `each` makes of every part between separators, which stay.
template <class Each>
std::string map_parts(std::string_view text, char separator, const Each& each) {
  std::string made;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    made += each(text.substr(begin, end - begin));
    if (end == text.size() || made.size() >= kTextBytesMost)
      break;
    made += separator;
    begin = end + 1;
  }
  made.resize(std::min(made.size(), kTextBytesMost));
  return made;
}

} // namespace

struct Pseudonyms::Mac {
  hmac_sha256_ctx context;
};

Pseudonyms::Pseudonyms(const Key& key) : mac_(std::make_unique<Mac>()) {
  hmac_sha256_set_key(&mac_->context, key.bytes.size(),
                      reinterpret_cast<const std::uint8_t*>(key.bytes.data()));
}
Pseudonyms::~Pseudonyms() = default;

std::uint64_t Pseudonyms::number(std::string_view name) const {
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  hmac_sha256_update(&mac_->context, name.size(),
                     reinterpret_cast<const std::uint8_t*>(name.data()));
  hmac_sha256_digest(&mac_->context, digest.size(), digest.data()); // and begins anew
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof(number));
  return number;
}

std::string Pseudonyms::word(std::string_view name) const {
  if (name.empty())
    return {};
  if (const auto known = words_.find(std::string(name)); known != words_.end())
    return known->second;
  std::uint64_t rest = number(name);
  std::string made(1, kConsonants[rest % kConsonants.size()]);
  rest /= kConsonants.size();
  for (; made.size() < kWordLetters; rest /= kLetters.size())
    made += kLetters[rest % kLetters.size()];
  if (words_.size() >= kWordsRemembered)
    words_.clear();
  words_.emplace(name, made);
  return made;
}

std::string Pseudonyms::component(std::string_view name) const {
  if (has(kKernelNames, name))
    return std::string(name);
  const std::size_t hidden = name.starts_with('.') ? 1 : 0;
  const std::string_view shown = name.substr(hidden);
  const std::size_t stem = extensions_of(shown);
  return std::string(hidden, '.') + word(shown.substr(0, stem)) + std::string(shown.substr(stem));
}

std::string Pseudonyms::components(std::string_view text) const {
  const bool is_proc =
      text.starts_with("/proc/"); // the numbers there are processes and descriptors
  return map_parts(text, '/', [&](std::string_view part) {
    return is_proc && std::ranges::all_of(part, is_digit) ? std::string(part) : component(part);
  });
}

std::string Pseudonyms::path(std::string_view text) const {
  if (text.ends_with(kDeleted))
    return path(text.substr(0, text.size() - kDeleted.size())) + std::string(kDeleted);
  if (is_pseudo_file(text))
    return std::string(text);
  if (const auto bytes = address_bytes(text))
    return word(text.substr(0, *bytes)) + std::string(text.substr(*bytes));
  std::string made = components(text);
  if (text.size() >= kPathBytesMost - 1 && made.size() < text.size())
    made.resize(text.size(), 'x'); // the length alone says that it was cut
  return made;
}

std::string Pseudonyms::argument(std::string_view text) const {
  const std::size_t dashes = std::min(text.find_first_not_of('-'), text.size());
  const std::string_view rest = text.substr(dashes);
  if (dashes == 0)
    return path(text);
  if (rest.size() <= 1)
    return std::string(text);
  const std::string front(text.substr(0, dashes));
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos)
    return front + word(rest);
  return front + word(rest.substr(0, equals)) + "=" + path(rest.substr(equals + 1));
}

std::string Pseudonyms::command(std::string_view text) const {
  if (text.ends_with(kCut))
    return command(text.substr(0, text.size() - kCut.size())) + std::string(kCut);
  return map_parts(text, ' ', [&](std::string_view part) { return argument(part); });
}

std::string Pseudonyms::sentence(std::string_view text) const {
  return map_parts(text, ' ', [&](std::string_view part) {
    const std::size_t begin = std::min(part.find_first_not_of("'\"("), part.size());
    std::size_t end = part.find_last_not_of("'\"),.:;");
    end = end == std::string_view::npos ? part.size() : end + 1;
    if (begin >= end || (part[begin] != '/' && part[begin] != '~'))
      return std::string(part);
    return fmt::format("{}{}{}", part.substr(0, begin), path(part.substr(begin, end - begin)),
                       part.substr(end));
  });
}

} // namespace iotrail::anonymize
