#!/bin/sh
# Chromium for the browser tests, which Playwright drives in place of a download of its own,
# and LaTeX for the table tests, where Debian's package manager is available.
# Without them the tests that need them are skipped with a reason.
set -u
command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ] || { echo "no apt-get: browser and LaTeX tests may skip"; exit 0; }
need=""
command -v chromium >/dev/null 2>&1 || need="$need chromium"
command -v pdflatex >/dev/null 2>&1 || need="$need texlive-latex-recommended texlive-latex-extra"
[ -z "$need" ] && exit 0
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need >/dev/null \
    || echo "could not install:$need; the tests that need them will skip"
exit 0
