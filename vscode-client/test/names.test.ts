import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import * as vscode from 'vscode';
import * as notify from '../src/extension/notify';
import { shownName, unlinked } from '../src/shared/names';

const NAME = '[Open](command:workbench.action.terminal.new)\u202egnp\u001b[31m\n.py';

describe('names of others', () => {
  it('stand on one line with what is hidden in them visible', () => {
    expect(shownName(NAME)).toBe(
      '[Open](command:workbench.action.terminal.new)\\u{202e}gnp\\u{1b}[31m\\u{a}.py',
    );
    expect(shownName('src/Ünï_(a) [id].tsx')).toBe('src/Ünï_(a) [id].tsx');
  });

  it('make no link in a message', () => {
    const shown = vi.mocked(vscode.window.showInformationMessage);
    void notify.info(`${NAME} was added.`);
    const text = String(shown.mock.calls.at(-1)?.[0]);
    expect(text).not.toContain('](');
    expect(text).not.toContain('\u202e');
    expect(text).not.toContain('\u001b');
    expect(unlinked('a [b] (c)')).toBe('a [b] (c)');
  });

  it('are shown by one module only', () => {
    const folder = join(__dirname, '../src/extension');
    const found = readdirSync(folder, { recursive: true })
      .map(String)
      .filter((file) => file.endsWith('.ts') && !/(notify|confirm)\.ts$/.test(file))
      .filter((file) =>
        /show(Information|Warning|Error)Message/.test(readFileSync(join(folder, file), 'utf8')),
      );
    expect(found).toEqual([]);
  });

  it('come into Markdown with everything escaped, and no view trusts Markdown', () => {
    const folder = join(__dirname, '../src/extension');
    for (const file of readdirSync(folder, { recursive: true }).map(String)) {
      if (!file.endsWith('.ts')) continue;
      const source = readFileSync(join(folder, file), 'utf8');
      expect(source).not.toMatch(/isTrusted\s*=\s*true|supportHtml\s*=\s*true/);
      if (source.includes('new vscode.MarkdownString')) {
        expect(['statusBar.ts', join('code', 'proposals.ts')]).toContain(file);
      }
    }
  });
});
