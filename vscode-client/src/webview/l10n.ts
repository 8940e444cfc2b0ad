/** The language that the host put into the page; read before any text is made. */
import { speak, t } from '../shared/l10n';

const given = globalThis.document?.querySelector<HTMLMetaElement>('meta[name=l10n]');
if (given) speak(JSON.parse(given.content));

export { t };
