/** Notifications of the operating system: what the program that shows them is given. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { program, raise } from '../src/extension/systemNotice';

const HOSTILE = `$(touch /tmp/x) "\u0027; & <b>bold</b> \\n %s\n--urgency=critical\u202e`;
const ONE_LINE = `$(touch /tmp/x) "'; & <b>bold</b> \\n %s --urgency=critical`;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'notice-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A `notify-send` on the path, which records its arguments and ends as it is told to. */
function environment(code: number): NodeJS.ProcessEnv {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\nfor one in "$@"; do printf '%s\\0' "$one"; done >"$NOTICE_ARGS"\nexit ${code}\n`;
  writeFileSync(path.join(bin, 'notify-send'), script, { mode: 0o755 });
  return { PATH: `${bin}:/usr/bin:/bin`, NOTICE_ARGS: path.join(folder, 'args') };
}

describe.skipIf(process.platform === 'win32')('with a real program', () => {
  it('a text arrives as one argument, as text', async () => {
    const env = environment(0);
    expect(await raise('--Tierline', HOSTILE, 'linux', env)).toBe(true);
    const given = readFileSync(path.join(folder, 'args'), 'utf8').split('\0').slice(0, -1);
    expect(given).toEqual([
      '--app-name=Tierline',
      '--',
      '--Tierline',
      `$(touch /tmp/x) "'; &amp; &lt;b&gt;bold&lt;/b&gt; \\\\n %s --urgency=critical`,
    ]);
  });

  it('a program that fails, or that is not there, is said', async () => {
    expect(await raise('Tierline', 'text', 'linux', environment(1))).toBe(false);
    expect(await raise('Tierline', 'text', 'linux', { PATH: folder })).toBe(false);
    expect(await raise('Tierline', 'text', 'aix', {})).toBe(false);
  });
});

describe('on other systems', () => {
  it('macOS gets the texts as arguments of a script that is always the same', () => {
    const one = program('darwin', 'Tierline', HOSTILE, {});
    const other = program('darwin', 'Tierline', 'text', {});
    expect(one?.args.slice(-2)).toEqual(['Tierline', ONE_LINE]);
    expect(one?.args.slice(0, -2)).toEqual(other?.args.slice(0, -2));
    expect(one?.file).toBe('/usr/bin/osascript');
  });

  it('Windows gets them as variables, for a script that is always the same', () => {
    const one = program('win32', 'Tierline', HOSTILE, { SystemRoot: 'D:\\Win' });
    expect(one?.file).toBe('D:\\Win\\System32\\WindowsPowerShell\\v1.0\\powershell.exe');
    expect(one?.args).toEqual(program('win32', 'Tierline', 'text', {})?.args);
    expect(one?.args.at(-1)).not.toContain('"');
    expect(one?.env).toMatchObject({
      TIERLINE_NOTICE_TITLE: 'Tierline',
      TIERLINE_NOTICE_TEXT: ONE_LINE,
    });
  });

  it('a long text is cut between characters', () => {
    const args = program('darwin', 'Tierline', '🍐'.repeat(500), {})?.args ?? [];
    expect([...(args.at(-1) ?? '')]).toHaveLength(240);
  });
});
