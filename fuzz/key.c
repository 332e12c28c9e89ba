// SPDX-License-Identifier: MIT
/* Files of keys: what is read can be written, and is read again the same. */
#include "secure/key.h"
#include "fuzz/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_keys keys, again;
    struct cv_complaint complaint = {{0}};
    const int error = cv_key_file_read("--key", fuzz_file(data, size), &keys, &complaint);
    fuzz_check_complaint(error, complaint.text);
    if (error)
        return 0;
    assert(keys.count >= 1 && keys.count <= CV_MOST_KEYS);
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < keys.count; i++) {
        assert(cv_key_name_good(cv_text(keys.list[i].name)));
        used += (size_t)snprintf(text + used, sizeof text - used, "conclave-key %s %s ", keys.list[i].name,
                                 keys.list[i].id);
        for (size_t j = 0; j < CV_KEY_BYTES; j++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%02x", keys.list[i].secret[j]);
        text[used++] = '\n';
    }
    assert(cv_key_file_read("--key", fuzz_file((const uint8_t *)text, used), &again, &complaint) == 0);
    assert(again.count == keys.count && memcmp(&again.list, &keys.list, keys.count * sizeof *keys.list) == 0);
    return 0;
}
