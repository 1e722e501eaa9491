/* The page of an earlier run in the folder of stems. A run with --force that writes no page removes
 * it: a page must not describe the stems of another run. */
#include "cli/stems/stems.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PAGE[] = "report.html";

const char *cli_earlier_page(const cli_stems *stems, int folder)
{
    char path[CLI_PATH], head[2048];
    struct stat status;
    int size = snprintf(path, sizeof path, "%s/%s", stems->directory, PAGE);
    if (cli_asked.force == NULL || size >= CLI_PATH || cli_is_input(stems->call, path) ||
        fstatat(stems->stage, PAGE, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return NULL;
    int fd = openat(folder, PAGE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    bool plain = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t length = plain ? read(fd, head, sizeof head - 1) : 0;
    close(fd);
    head[length < 0 ? 0 : length] = '\0';
    return strstr(head, "<meta name=\"generator\" content=\"tlnmf ") != NULL ? PAGE : NULL;
}
