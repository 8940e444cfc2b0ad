/** Short names of files that can still be told apart. */

/**
 * A label for each path: its name, with folders in front where names are the same.
 * ``roots`` are the names of further workspace folders; what lies in one says so.
 */
export function labels(paths: readonly string[], roots: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of paths) {
    const parts = path.split('/');
    const others = paths.filter((other) => other !== path);
    let kept = 1;
    const tail = (): string => parts.slice(-kept).join('/');
    while (kept < parts.length && others.some((other) => `/${other}`.endsWith(`/${tail()}`))) {
      kept += 1;
    }
    const root = parts[0] ?? '';
    const named = parts.length > kept && roots.includes(root);
    const between = named && parts.length > kept + 1 ? `${root}/…/` : named ? `${root}/` : '';
    found.set(path, between + tail());
  }
  return found;
}
