// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <regex>

#include "anonymize/key.hpp"
#include "anonymize/manifest_names.hpp"
#include "anonymize/pseudonyms.hpp"

namespace iotrail::anonymize {
namespace {

const Key kKey{"0123456789abcdef0123456789abcdef"};

TEST(Pseudonyms, are_those_of_hmac_sha256) {
  // printf quokka | openssl dgst -sha256 -mac HMAC -macopt key:0123456789abcdef0123456789abcdef
  EXPECT_EQ(Pseudonyms(kKey).number("quokka"), 0x44ca6582a2ae6d42U);
}

TEST(Pseudonyms, are_equal_for_equal_names_and_keys) {
  const Pseudonyms names(kKey);
  const std::string quokka = names.word("quokka");
  EXPECT_TRUE(std::regex_match(quokka, std::regex("[b-z][b-z0-9]{11}")));
  EXPECT_EQ(Pseudonyms(kKey).word("quokka"), quokka);
  EXPECT_EQ(names.path("quokka"), quokka);
  EXPECT_EQ(names.path("/quokka/quokka.db"), "/" + quokka + "/" + quokka + ".db");
  EXPECT_NE(names.word("quokkb"), quokka);
  EXPECT_NE(Pseudonyms(Key{"0123456789abcdef0123456789abcdee"}).word("quokka"), quokka);
}

TEST(Pseudonyms, keep_the_structure_of_paths) {
  const Pseudonyms names(kKey);
  const std::string a = names.word("alice");
  for (const auto& [path, made] : std::initializer_list<std::pair<std::string, std::string>>{
           {"", ""},
           {"/", "/"},
           {"../alice//./alice/", "../" + a + "//./" + a + "/"},
           {"/alice/.alice", "/" + a + "/." + a},
           {".alice.txt", "." + a + ".txt"},
           {"alice.tar.gz", a + ".tar.gz"},
           {"alice.so.1.2", a + ".so.1.2"},
           {"alice.db-journal", a + ".db-journal"},
           {"alice.smithson", names.word("alice.smithson")},
           {"alice.", names.word("alice.")},
           {"/alice (deleted)", "/" + a + " (deleted)"},
           {"/dev/null", "/dev/null"},
           {"/proc/self/fd/7", "/proc/self/fd/7"},
           {"/proc/71/alice", "/proc/71/" + a},
           {"pipe:[7]", "pipe:[7]"},
           {"pipe:[alice]", names.word("pipe:[alice]")},
           {"anon_inode:[eventfd]", "anon_inode:[eventfd]"},
           {"10.0.0.7:8080", names.word("10.0.0.7") + ":8080"},
           {"[fd00::7]:80", names.word("[fd00::7]") + ":80"}})
    EXPECT_EQ(names.path(path), made);
  const std::string long_path(4096, 'p');
  EXPECT_EQ(names.path(long_path).size(), 4096U) << "a cut path still looks cut";
}

TEST(Pseudonyms, cover_arguments) {
  const Pseudonyms names(kKey);
  const std::string a = names.word("alice");
  EXPECT_EQ(names.command("alice -m --alice=/alice --  -alice"),
            a + " -m --" + a + "=/" + a + " --  -" + a);
  EXPECT_EQ(names.sentence("cannot read '/alice/x': no"),
            "cannot read '/" + a + "/" + names.word("x") + "': no");
}

TEST(Manifest, has_no_name_but_all_numbers) {
  store::Manifest manifest;
  manifest.trace_id = "00112233445566778899aabbccddeeff";
  manifest.command = {"alice", "--user=alice"};
  manifest.host = "alice";
  manifest.kernel = "6.1.0-alice";
  manifest.request.json = R"({"file":"alice"})";
  manifest.filters = {"--file /home/alice"};
  manifest.not_followed = {"7 alice: cannot open /home/alice"};
  manifest.still_running = {"8 alice"};
  manifest.stop_reason = "disk full: /home/alice";
  manifest.tags = {{"alice", "alice"}, {"import.format", "strace"}};
  manifest.counts = {{"syscall_read", 7}};
  manifest.begin_ns = 5;
  const Pseudonyms names(kKey);
  const store::Manifest made = anonymous_manifest(manifest, names);
  const std::string text = manifest_text(made, "");
  EXPECT_EQ(text.find("alice"), std::string::npos) << text;
  const std::string a = names.word("alice");
  EXPECT_EQ(made.kernel, "6.1.0");
  EXPECT_EQ(made.filters, std::vector<std::string>{"--file /" + names.word("home") + "/" + a});
  EXPECT_EQ(made.still_running, std::vector<std::string>{"8 " + a});
  EXPECT_EQ(made.tags.at("import.format"), "strace");
  EXPECT_EQ(made.counts, manifest.counts);
  EXPECT_EQ(made.begin_ns, 5U);
  EXPECT_NE(made.trace_id, manifest.trace_id);
}

class KeyFile : public testing::Test {
protected:
  std::string path_ = testing::TempDir() + "anonymize_test.key";

  void make(const std::string& content, mode_t mode) {
    std::remove(path_.c_str());
    std::ofstream(path_) << content;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  std::string refusal() {
    const auto key = read_key(path_);
    return key ? "" : key.error().why;
  }
};

TEST_F(KeyFile, is_refused_unless_it_is_a_secret) {
  make(kKey.bytes, 0600);
  EXPECT_EQ(refusal(), "");
  make(kKey.bytes, 0640);
  EXPECT_EQ(refusal(), "other users may open it (mode 0640)");
  make("short", 0600);
  EXPECT_EQ(refusal(), "it has 5 bytes, and a key has at least 16");
  make(std::string(5000, 'x'), 0600);
  EXPECT_EQ(refusal(), "a key has at most 4096 bytes");
  std::remove(path_.c_str());
  EXPECT_EQ(refusal(), "No such file or directory (ENOENT)");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(), "it is no regular file");
  std::remove(path_.c_str());
}

} // namespace
} // namespace iotrail::anonymize
