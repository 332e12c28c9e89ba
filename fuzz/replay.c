// SPDX-License-Identifier: MIT
/* Counterexamples in files, as conclave check --trace writes them and conclave sim --replay reads them: refused by a
   line, or played again to a run that the properties can judge. */
#include "cli/command.h"
#include "cli/study/replay_file.h"
#include "fuzz/file.h"
#include "property/property.h"

#define MOST_DIGITS 2u

/* Files are none of its business, and a large group is as good as a small one. */
static bool is_sensible(const char *text)
{
    size_t digits = 0;
    for (const char *at = text; *at; at++) {
        digits = *at >= '0' && *at <= '9' ? digits + 1 : 0;
        if (digits > MOST_DIGITS || *at == '/' || *at == '@')
            return false;
    }
    return !strstr(text, ".so");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct replay_file file = {0};
    struct cv_replay *replay = NULL;
    struct cv_run run = {0};
    struct cv_judgement judgement;
    struct cv_complaint complaint = {{0}};
    static const struct cv_observer nobody = {0};
    char *text = fuzz_string(data, size);
    const bool sensible = is_sensible(text);
    free(text);
    if (!sensible)
        return 0;
    int error = replay_load(fuzz_file(data, size), &file, &complaint);
    if (!error)
        error = cv_replay_new(&replay, &file.scenario, &file.request.options, &nobody);
    if (!error)
        error = cv_replay_run(replay, &file.trail, &run, &complaint);
    if (!error)
        error = cv_judge(&run, &judgement, &complaint);
    fuzz_check_complaint(error, complaint.text);
    cv_replay_free(replay);
    replay_unload(&file);
    return 0;
}
