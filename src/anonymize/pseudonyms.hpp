// SPDX-License-Identifier: BSD-3-Clause
//
// Pseudonyms of names: equal for equal names and keys, in all texts and traces, and not to be
// computed without the key. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "anonymize/key.hpp"

namespace iotrail::anonymize {

class Pseudonyms {
public:
  explicit Pseudonyms(const Key& key);
  ~Pseudonyms();

  // The name as a whole: 12 digits and consonants. "" stays.
  std::string word(std::string_view name) const;
  // The number of something that the number could reveal.
  std::uint64_t number(std::string_view name) const;

  // A path, the name of a program, or an address. Slashes, ".", "..", the dot of a hidden file and
  // usual extensions stay, and so do the port of an address, a pipe's number and names that the
  // kernel gives (/proc, /dev/null).
  std::string path(std::string_view text) const;
  // Arguments separated by blanks, each by argument().
  std::string command(std::string_view text) const;
  // Dashes and the equals sign of an option stay.
  std::string argument(std::string_view text) const;
  // A message of iotrail's own: the absolute paths in it.
  std::string sentence(std::string_view text) const;

private:
  std::string component(std::string_view name) const;
  std::string components(std::string_view text) const;

  struct Mac;
  std::unique_ptr<Mac> mac_;
  mutable std::unordered_map<std::string, std::string> words_; // the last ones
};

} // namespace iotrail::anonymize
