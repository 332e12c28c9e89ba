// SPDX-License-Identifier: MIT
/* Recordings of live nodes, as conclave judge reads them: refused by a line, or a run that the properties can judge. */
#include "cli/command.h"
#include "cli/study/recording_run.h"
#include "fuzz/file.h"
#include "property/property.h"

/* The program's own ends it with a line; here the sanitizer does. */
void *command_allocate(size_t size)
{
    return malloc(size);
}

static void judge(const struct recording *recording, struct recording_story *story, bool clients)
{
    if (recording_tell(recording, story, clients) == 0) {
        struct cv_judgement judgement;
        struct cv_complaint complaint = {{0}};
        const int error = cv_judge(&story->run, &judgement, &complaint);
        fuzz_check_complaint(error, complaint.text);
        assert(error || judgement.finding_count <= CV_MAX_FINDINGS);
    }
    recording_forget(story);
}

/* Several files are separated by a NUL. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recording recording = {0};
    struct cv_complaint complaint = {{0}};
    int error = 0;
    for (size_t at = 0, next; !error && at < size; at = next + 1) {
        const uint8_t *end = memchr(data + at, 0, size - at);
        next = end ? (size_t)(end - data) : size;
        error = recording_read(&recording, fuzz_file(data + at, next - at), &complaint);
        fuzz_check_complaint(error, complaint.text);
    }
    if (!error) {
        recording_close(&recording);
        for (size_t i = 0; i < recording.story_count; i++) {
            judge(&recording, recording.stories[i], false);
            if (recording.stories[i]->algorithm->problem == CV_MUTEX)
                judge(&recording, recording.stories[i], true);
        }
    }
    recording_free(&recording);
    return 0;
}
