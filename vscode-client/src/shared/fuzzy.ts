/** Ranks paths for a typed query: letters in order, better at the start of a name or word. */

export function rank(query: string, paths: readonly string[], limit: number): string[] {
  const wanted = query.toLowerCase();
  if (wanted === '') return paths.slice(0, limit);
  const scored: { path: string; score: number }[] = [];
  for (const path of paths) {
    const score = match(wanted, path);
    if (score > 0) scored.push({ path, score });
  }
  scored.sort(
    (a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1),
  );
  return scored.slice(0, limit).map((item) => item.path);
}

/** 0: no match. Higher is better. */
function match(query: string, path: string): number {
  const lower = path.toLowerCase();
  const base = lower.lastIndexOf('/') + 1;
  const inName = lower.indexOf(query, base);
  if (inName === base) return 4_000;
  if (inName > base) return 3_000 - (inName - base);
  const anywhere = lower.indexOf(query);
  if (anywhere >= 0) return 2_000 - anywhere;
  let score = 1_000;
  let from = 0;
  for (const letter of query) {
    const at = lower.indexOf(letter, from);
    if (at < 0) return 0;
    const startsWord = at === 0 || /[/._\- ]/.test(lower[at - 1] ?? '');
    score -= startsWord ? 0 : Math.min(at - from, 20);
    from = at + 1;
  }
  return Math.max(score, 1);
}
