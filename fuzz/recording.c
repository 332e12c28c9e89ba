// SPDX-License-Identifier: MIT
/* Recordings of live nodes, as conclave judge reads them: refused by a line, or a run that the properties can judge. */
#include "cli/command.h"
#include "cli/study/replay_command.h"
#include "fuzz/file.h"
#include "property/property.h"

/* The program's own ends it with a line; here the sanitizer does. */
void *command_allocate(size_t size)
{
    return malloc(size);
}

static void judge(const struct replay *replay, struct replay_story *story, bool clients)
{
    if (replay_tell(replay, story, clients) == 0) {
        struct cv_judgement judgement;
        struct cv_complaint complaint = {{0}};
        const int error = cv_judge(&story->run, &judgement, &complaint);
        fuzz_check_complaint(error, complaint.text);
        assert(error || judgement.finding_count <= CV_MAX_FINDINGS);
    }
    replay_forget(story);
}

/* Several files are separated by a NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct replay replay = {0};
    struct cv_complaint complaint = {{0}};
    int error = 0;
    for (size_t at = 0, next; !error && at < size; at = next + 1) {
        const uint8_t *end = memchr(data + at, 0, size - at);
        next = end ? (size_t)(end - data) : size;
        error = replay_read(&replay, fuzz_file(data + at, next - at), &complaint);
        fuzz_check_complaint(error, complaint.text);
    }
    if (!error) {
        replay_close(&replay);
        for (size_t i = 0; i < replay.story_count; i++) {
            judge(&replay, replay.stories[i], false);
            if (replay.stories[i]->algorithm->problem == CV_MUTEX)
                judge(&replay, replay.stories[i], true);
        }
    }
    replay_free(&replay);
    return 0;
}
