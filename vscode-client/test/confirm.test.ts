/** No modal of the extension may do with Enter what cannot be taken back. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const SOURCE = path.join(import.meta.dirname, '../src/extension');

it('asks every modal question through the one helper that has the safe answer first', () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
  const modal = files.filter(
    (name) =>
      name.endsWith('.ts') && /\bmodal\b\s*:/.test(readFileSync(path.join(SOURCE, name), 'utf8')),
  );
  expect(modal).toEqual(['confirm.ts']);
  const asking = files.filter(
    (name) =>
      name.endsWith('.ts') &&
      /\bconfirmed(One)?\(/.test(readFileSync(path.join(SOURCE, name), 'utf8')),
  );
  expect(asking.sort()).toEqual([
    'back.ts',
    'confirm.ts',
    'files.ts',
    'memos.ts',
    'replies.ts',
    'sessions.ts',
  ]);
});
