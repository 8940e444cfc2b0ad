import { describe, expect, it } from 'vitest';
import { fileName, memoText, parseMemo, title } from '../src/shared/memos';

describe('memos as texts', () => {
  it('reads back what it wrote', () => {
    for (const memo of [
      { content: 'The port is 5544.', tags: ['database', 'port'] },
      { content: 'Two\n\nparagraphs, and tags: in the text', tags: [] },
      { content: 'tags: look like tags', tags: ['x'] },
    ]) {
      expect(parseMemo(memoText(memo))).toEqual(memo);
    }
  });

  it('leaves the tags alone when their line was deleted', () => {
    expect(parseMemo('Only text\n')).toEqual({ content: 'Only text', tags: null });
    expect(parseMemo('tags:\r\n\r\nText')).toEqual({ content: 'Text', tags: [] });
    expect(parseMemo('Tags: a, b c\nText')).toEqual({ content: 'Text', tags: ['a', 'b', 'c'] });
  });

  it('shows the first line only', () => {
    expect(title('  First   line\nsecond')).toBe('First line');
    expect(title('x'.repeat(100))).toHaveLength(80);
  });

  it('gives a document a name that says what it is', () => {
    expect(fileName('The integration database listens on port 5544, as 5432 is taken.')).toBe(
      'The integration database listens on',
    );
    expect(fileName('Short: ../../etc <b>')).toBe('Short .. .. etc b');
    expect(fileName('***')).toBe('memo');
    expect(fileName('x'.repeat(90))).toBe('memo');
  });
});
