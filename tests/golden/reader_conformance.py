#!/usr/bin/env python3
"""Compares what the reader makes of recordings with the truth beside them, value by value.

Usage: reader_conformance.py DUMP [DATA]

DUMP is the built reader_dump.c; DATA the shared recordings (default: $HOLTER_SHARED/data/jfr, else
../shared/data/jfr). The truth is NAME.json.gz (`jfr print --json --stack-depth 64`),
NAME.summary.txt (`jfr summary`) and NAME.layout.json (a strict parser of our own).
"""
import datetime
import gzip
import json
import os
import re
import struct
import subprocess
import sys

EPOCH = datetime.datetime(1970, 1, 1)
MIN = -(2 ** 63)
NAMES = ['jdk17-custom', 'jdk17-default', 'jdk17-inflight', 'jdk17-multichunk', 'jdk17-profile',
         'proto/mini', 'proto/native-pages', 'proto/native-proto', 'proto/native-stream']
# These truth files hold chosen event types only.
CHOSEN = {'jdk17-default', 'jdk17-profile'}


def time_of(text):
    """ISO time to ns since the epoch."""
    if text.startswith('-999999999'):
        return MIN
    day, clock, fraction, zone = re.match(
        r'^(\d+-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$', text).groups()
    if len(clock) == 5:
        clock += ':00'
    when = datetime.datetime.strptime(day + 'T' + clock, '%Y-%m-%dT%H:%M:%S')
    seconds = (when - EPOCH).days * 86400 + (when - EPOCH).seconds
    if zone != 'Z':
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
        seconds -= offset if zone[0] == '+' else -offset
    return seconds * 10 ** 9 + int((fraction or '0').ljust(9, '0'))


def span_of(text):
    """ISO duration to ns."""
    if text == 'PT-2562047788015215H-30M-8S':
        return MIN
    hours, minutes, seconds, fraction = re.match(
        r'^PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d*)(?:\.(\d+))?S)?$', text).groups()
    ns = (int(hours or 0) * 3600 + int(minutes or 0) * 60) * 10 ** 9
    if seconds:
        part = int((fraction or '0').ljust(9, '0'))
        whole = int(seconds if seconds != '-' else '0') * 10 ** 9
        ns += whole - part if seconds.startswith('-') else whole + part
    return ns


class Comparer:
    def __init__(self, slack_ns):
        self.slack_ns = slack_ns
        self.errors = []
        self.values = 0

    def error(self, path, ours, truth):
        self.errors.append('%s: %.200r, but the truth is %.200r' % (path, ours, truth))

    def tagged(self, path, ours, truth):
        kind, value = next(iter(ours.items()))
        if kind == '$ns':
            if not isinstance(truth, str):
                return value == truth
            if truth.startswith('PT'):
                # Ours saturate; a JDK's durations go further than 64 bits of ns.
                return value == min(span_of(truth), 2 ** 63 - 1)
            wanted = time_of(truth)
            return value == wanted or (value != MIN and abs(value - wanted) <= self.slack_ns)
        if kind == '$char':
            return truth == chr(value)
        if kind == '$unsigned':
            # A JDK's JSON has the bits of the signed type, where ours has the widened number.
            return truth in [value] + [value - 2 ** width for width in (8, 16, 32, 64)
                                       if value >> (width - 1) == 1]
        if truth is None:
            return False
        if kind == '$float':
            return struct.pack('>f', value) == struct.pack('>f', truth)
        return value == truth

    def compare(self, path, ours, truth):
        self.values += 1
        if isinstance(ours, dict) and len(ours) == 1 and next(iter(ours)).startswith('$'):
            if not self.tagged(path, ours, truth):
                self.error(path, ours, truth)
        elif isinstance(ours, dict) and isinstance(truth, dict):
            if list(ours) != list(truth):
                self.error(path, list(ours), list(truth))
                return
            for name in ours:
                self.compare(path + '.' + name, ours[name], truth[name])
        elif isinstance(ours, list) and isinstance(truth, list):
            if len(ours) != len(truth):
                self.error(path, len(ours), len(truth))
                return
            for i, (one, other) in enumerate(zip(ours, truth)):
                self.compare('%s[%d]' % (path, i), one, other)
        elif type(ours) is not type(truth) or ours != truth:
            self.error(path, ours, truth)


def run(tool, mode, path):
    done = subprocess.run([tool, mode, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise ValueError('exit %d: %s' % (done.returncode, done.stderr.decode()[:300]))
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def check_events(tool, data, name, path):
    with gzip.open(os.path.join(data, name + '.json.gz')) as truth_file:
        truth = json.load(truth_file)['recording']['events']
    ours = run(tool, 'events', path)
    # A JDK prints each chunk sorted by end time.
    ours.sort(key=lambda event: (event['chunk'], event['end']))
    if name in CHOSEN:
        chosen = {event['type'] for event in truth}
        ours = [event for event in ours if event['type'] in chosen]
    comparer = Comparer(1000 if 'multichunk' in name else 0)
    if len(ours) != len(truth):
        comparer.error('number of events', len(ours), len(truth))
    for i, (one, other) in enumerate(zip(ours, truth)):
        if one['type'] != other['type']:
            comparer.error('type of event %d' % i, one['type'], other['type'])
            continue
        comparer.compare('%d %s' % (i, one['type']), one['values'], other['values'])
    return comparer.errors, '%d events, %d values' % (len(ours), comparer.values)


def check_summary(tool, data, name, path):
    errors = []
    ours = run(tool, 'counts', path)[0]
    with open(os.path.join(data, name + '.summary.txt')) as truth_file:
        text = truth_file.read()
    for key, value in (('Version', ours['version']), ('Chunks', str(ours['chunks']))):
        truth = re.search(r'%s: (\S+)' % key, text).group(1)
        if truth != value:
            errors.append('%s: %s, but the truth is %s' % (key, value, truth))
    rows = re.findall(r'^ (\S+) +(\d+) +(\d+) *$', text, re.M)
    for kind, count, size in rows:
        if ours['counts'].get(kind) != [int(count), int(size)]:
            errors.append('%s: %r, but the truth is %s %s'
                          % (kind, ours['counts'].get(kind), count, size))
    missing = set(ours['counts']) - {row[0] for row in rows} - {'<unknown>'}
    if missing:
        errors.append('types not in the truth: %s' % sorted(missing))
    return errors, '%d types' % len(rows)


def check_layout(tool, data, name, path):
    errors = []
    ours = run(tool, 'chunks', path)
    with open(os.path.join(data, name + '.layout.json')) as truth_file:
        truth = json.load(truth_file)['chunks']
    if len(ours) != len(truth):
        errors.append('%d chunks, but the truth is %d' % (len(ours), len(truth)))
    for i, (one, other) in enumerate(zip(ours, truth)):
        events = sum(row['count'] for kind, row in other['events'].items()
                     if kind not in ('jdk.Metadata', 'jdk.CheckPoint'))
        constants = sum(sum(checkpoint['pools'].values()) for checkpoint in other['checkpoints'])
        wanted = {'id': other['metadata']['id'], 'types': other['metadata']['types'],
                  'eventTypes': other['metadata']['eventTypes'], 'events': events,
                  'checkpoints': len(other['checkpoints']), 'constants': constants}
        for key in ('offset', 'version', 'chunkSize', 'checkpointOffset', 'metadataOffset',
                    'startNanos', 'durationNanos', 'startTicks', 'ticksPerSecond', 'state',
                    'flags'):
            wanted[key] = other[key]
        errors += ['chunk %d: %s %r, but the truth is %r' % (i, key, one[key], wanted[key])
                   for key in wanted if one[key] != wanted[key]]
    return errors, '%d chunks' % len(ours)


def main():
    tool = sys.argv[1]
    shared = os.environ.get('HOLTER_SHARED') or os.path.join(
        os.path.dirname(os.path.abspath(__file__)), '../../../shared')
    data = sys.argv[2] if len(sys.argv) > 2 else os.path.join(shared, 'data/jfr')
    counts = {'passed': 0, 'failed': 0, 'skipped': 0}
    checks = (('values', check_events), ('summary', check_summary), ('layout', check_layout))
    for name in NAMES:
        paths = [os.path.join(data, name + suffix) for suffix in ('.jfr', '.jfr.lz4')]
        for path in paths[:1] + [p for p in paths[1:] if os.path.exists(p)]:
            for what, check in checks:
                if not os.path.exists(path):
                    counts['skipped'] += 1
                    print('skip %s %s: no %s' % (what, name, path))
                    continue
                try:
                    errors, text = check(tool, data, name, path)
                except (ValueError, OSError) as error:
                    errors, text = [str(error)], ''
                counts['failed' if errors else 'passed'] += 1
                print('%s %s %s: %s' % ('FAIL' if errors else 'ok', what,
                                        os.path.basename(path), text))
                for error in errors[:10]:
                    print('     ' + error)
    print('%d passed, %d failed, %d skipped'
          % (counts['passed'], counts['failed'], counts['skipped']))
    return 1 if counts['failed'] else 0


if __name__ == '__main__':
    sys.exit(main())
