/**
 * Texts and numbers in the user's language, the same way in the host and in the webviews: a text is
 * its own key, and a language's bundle (l10n/bundle.l10n.*.json) has its translation.
 */

export interface Language {
  /** As in ``vscode.env.language``; also the format of numbers. */
  id: string;
  bundle: Readonly<Record<string, string>>;
}

export const ENGLISH: Language = { id: 'en', bundle: {} };

let chosen = ENGLISH;

/** From now on texts are in this language. Texts that were made before stay as they are. */
export function speak(language: Language): void {
  chosen = language;
}

/** The text in the user's language, with values for ``{0}``, ``{1}`` … */
export function t(text: string, ...values: readonly (string | number)[]): string {
  const found = chosen.bundle[text] ?? text;
  return found.replace(/\{(\d+)\}/g, (mark, place) => String(values[Number(place)] ?? mark));
}

/** 12400 → "12,400", or "12.400" in German. */
export function whole(count: number): string {
  return Math.round(count).toLocaleString(locale());
}

/** With at most, or exactly, so many decimal places. */
export function decimal(value: number, most: number, least = 0): string {
  return value.toLocaleString(locale(), {
    maximumFractionDigits: most,
    minimumFractionDigits: least,
    useGrouping: false,
  });
}

function locale(): string {
  return chosen.id === 'en' ? 'en-US' : chosen.id;
}
