// SPDX-License-Identifier: BSD-3-Clause
#include "store/reader/repository.hpp"

#include <sys/stat.h>

#include <regex>

#include "store/test_support.hpp"

namespace iotrail::store::testing {
namespace {

class Catalogue : public ::testing::Test {
protected:
  void SetUp() override { setenv("IOTRAIL_REPOSITORY", repository().c_str(), 1); }
  void TearDown() override {
    unsetenv("IOTRAIL_REPOSITORY");
    std::filesystem::current_path("/");
  }

  std::filesystem::path repository() const { return directory_ / "traces"; }

  std::filesystem::path add_trace(std::string_view name, std::uint64_t begin_ns) {
    const auto path = new_trace_path(name, "");
    Manifest manifest;
    manifest.begin_ns = begin_ns;
    auto writer = create(path);
    EXPECT_TRUE(writer->finish(manifest).has_value());
    return path;
  }

  TemporaryDirectory directory_;
};

TEST_F(Catalogue, the_repository_is_where_the_environment_says) {
  EXPECT_EQ(repository_path(), repository());
  unsetenv("IOTRAIL_REPOSITORY");
  setenv("XDG_STATE_HOME", "/x", 1);
  EXPECT_EQ(repository_path(), "/x/iotrail");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(repository_path(), "/h/.local/state/iotrail");
}

TEST_F(Catalogue, names_become_paths) {
  EXPECT_EQ(new_trace_path("a", "cp"), repository() / "a.iotrail");
  EXPECT_EQ(new_trace_path("./a", "cp"), "./a.iotrail");
  EXPECT_EQ(new_trace_path("a.iotrail", "cp"), "a.iotrail");
  const auto generated = new_trace_path("", "/bin/cp");
  EXPECT_TRUE(
      std::regex_match(generated.filename().string(), std::regex(R"(cp-\d{8}-\d{6}\.iotrail)")))
      << generated;
  add_trace(generated.string(), 0);
  EXPECT_NE(new_trace_path("", "/bin/cp"), generated);
}

TEST_F(Catalogue, an_empty_or_missing_repository_has_no_traces) {
  EXPECT_TRUE(list_traces(repository())->empty());
  EXPECT_FALSE(find_trace("latest").has_value());
}

TEST_F(Catalogue, traces_are_listed_by_name_and_found_by_name_path_or_latest) {
  const auto b = add_trace("b", 30);
  const auto a = add_trace("a1", 10);
  add_trace("a2", 20);
  std::filesystem::create_directory(repository() / "no-trace.iotrail");
  std::vector<std::string> names;
  const auto traces = list_traces(repository());
  for (const RepositoryEntry& entry : *traces) {
    names.push_back(entry.name);
    EXPECT_EQ(entry.events_bytes, entry.manifest.events_bytes);
    EXPECT_GT(entry.events_bytes, 0U);
    EXPECT_TRUE(entry.problem.empty()) << entry.problem;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a1", "a2", "b"}));
  EXPECT_EQ(list_traces(repository(), "a*")->size(), 2U);
  EXPECT_EQ(list_traces(repository(), "a")->size(), 0U);
  EXPECT_EQ(list_traces(repository(), "a1")->size(), 1U);
  EXPECT_EQ(find_trace("a1").value(), a);
  EXPECT_EQ(find_trace("a1.iotrail").value(), a);
  EXPECT_EQ(find_trace(a.string() + "/").value(), a);
  EXPECT_EQ(find_trace("latest").value(), b);
  std::filesystem::current_path(repository());
  // Not a trace, and it has the name that find_trace() tries first.
  std::filesystem::create_directory("a2");
  EXPECT_EQ(find_trace("a2").value(), "a2.iotrail");
  std::filesystem::current_path("a2");
  std::filesystem::create_directory("b");
  EXPECT_EQ(find_trace("b").value(), b);
  EXPECT_EQ(find_trace("./b").value(), "./b") << "which is then refused by what it is";
  const auto none = find_trace("c");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message().find((repository() / "c.iotrail").string()), std::string::npos);
}

TEST_F(Catalogue, a_trace_with_a_damaged_manifest_is_listed_with_its_problem) {
  const auto trace = add_trace("a", 1);
  overwrite(trace / "manifest.json", "{");
  const auto traces = list_traces(repository());
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_NE((*traces)[0].problem.find("damaged"), std::string::npos);
}

TEST_F(Catalogue, a_running_trace_is_neither_removed_nor_tagged_unless_forced) {
  const auto path = new_trace_path("running", "");
  auto writer = create(path);
  const auto removed = remove_trace(path, false);
  ASSERT_FALSE(removed.has_value());
  EXPECT_NE(removed.error().message().find("being recorded"), std::string::npos);
  EXPECT_FALSE(tag_trace(path, "k", "v").has_value());
  EXPECT_TRUE(std::filesystem::exists(path / "manifest.json"));
  EXPECT_TRUE(remove_trace(path, true).has_value());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Catalogue, tags_are_set_and_removed_and_leave_all_else_as_it_was) {
  const auto trace = add_trace("a", 5);
  const std::string before = contents(trace / "manifest.json");
  ASSERT_TRUE(tag_trace(trace, "run", "7").has_value());
  EXPECT_EQ(read_manifest(trace)->tags, (std::map<std::string, std::string>{{"run", "7"}}));
  EXPECT_EQ(read_manifest(trace)->state, State::COMPLETE);
  ASSERT_TRUE(tag_trace(trace, "run", "").has_value());
  EXPECT_EQ(contents(trace / "manifest.json"), before);
  EXPECT_TRUE(remove_trace(trace, false).has_value());
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(Catalogue, removing_a_trace_keeps_other_files) {
  const auto project = directory_ / "project";
  std::filesystem::create_directories(project / "src");
  overwrite(project / "src/x.js", "x");
  for (const char* manifest : {"{}", R"({"format_version": 1})", R"({"format_version": 2})"}) {
    overwrite(project / "manifest.json", manifest);
    const auto removed = remove_trace(project, true);
    ASSERT_FALSE(removed.has_value());
    EXPECT_NE(removed.error().message().find("not a trace"), std::string::npos);
  }
  EXPECT_TRUE(std::filesystem::exists(project / "src/x.js"));

  const auto trace = add_trace("a", 1);
  overwrite(trace / "notes.txt", "mine");
  overwrite(directory_ / "target", "not of the trace");
  std::filesystem::create_symlink(directory_ / "target", trace / "events-0009.seg");
  std::filesystem::create_directory(trace / "events-0008.seg");
  const auto removed = remove_trace(trace, false);
  ASSERT_FALSE(removed.has_value());
  EXPECT_NE(removed.error().message().find("events-0008.seg, events-0009.seg, notes.txt"),
            std::string::npos)
      << removed.error().message();
  EXPECT_EQ(contents(trace / "notes.txt"), "mine");
  EXPECT_EQ(contents(directory_ / "target"), "not of the trace");
  EXPECT_FALSE(std::filesystem::exists(trace / "manifest.json"));
  EXPECT_FALSE(std::filesystem::exists(trace / "events-0001.seg"));
}

TEST_F(Catalogue, a_copied_manifest_makes_no_trace_of_a_directory) {
  const auto trace = add_trace("a", 1);
  const auto copies = directory_ / "copies.iotrail";
  std::filesystem::create_directory(copies);
  std::filesystem::copy_file(trace / "manifest.json", copies / "manifest.json");
  const auto removed = remove_trace(copies, true);
  ASSERT_FALSE(removed.has_value());
  EXPECT_NE(removed.error().message().find("not a trace"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(copies / "manifest.json"));
}

TEST_F(Catalogue, removing_never_follows_a_link) {
  const auto trace = add_trace("a", 1);
  std::filesystem::create_symlink(trace, repository() / "link.iotrail");
  const auto removed = remove_trace(repository() / "link.iotrail", true);
  ASSERT_FALSE(removed.has_value());
  EXPECT_NE(removed.error().message().find(trace.string()), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(trace / "manifest.json"));
}

TEST_F(Catalogue, a_damaged_trace_can_be_removed) {
  const auto trace = add_trace("a", 1);
  overwrite(trace / "manifest.json", "{");
  EXPECT_TRUE(remove_trace(trace, false).has_value());
  EXPECT_FALSE(std::filesystem::exists(trace));
}

TEST_F(Catalogue, a_tag_is_written_to_no_other_file_than_the_manifest) {
  const auto trace = add_trace("a", 1);
  const auto target = directory_ / "target";
  overwrite(target, "precious");
  const auto next = trace / "manifest.json.next";
  std::filesystem::create_symlink(target, next);
  EXPECT_TRUE(tag_trace(trace, "run", "1").has_value());
  EXPECT_EQ(contents(target), "precious");
  std::filesystem::create_hard_link(target, next);
  EXPECT_TRUE(tag_trace(trace, "run", "2").has_value());
  EXPECT_EQ(contents(target), "precious");
  ASSERT_EQ(mkfifo(next.c_str(), 0600), 0);
  EXPECT_TRUE(tag_trace(trace, "run", "3").has_value());
  EXPECT_EQ(read_manifest(trace)->tags.at("run"), "3");
}

TEST_F(Catalogue, a_damaged_manifest_is_not_made_good_by_a_tag) {
  const auto trace = add_trace("a", 1);
  std::string manifest = contents(trace / "manifest.json");
  manifest[manifest.find("COMPLETE")] = 'X';
  overwrite(trace / "manifest.json", manifest);
  EXPECT_FALSE(tag_trace(trace, "run", "1").has_value());
  EXPECT_EQ(contents(trace / "manifest.json"), manifest);
}

} // namespace
} // namespace iotrail::store::testing
