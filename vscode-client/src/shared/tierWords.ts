/** The tiers in words, since few users know their names. */
import { t } from './l10n';

export function tierWords(tier: string): string {
  switch (tier) {
    case '':
      return '';
    case 'head':
      return t('at the very front');
    case 'log':
      return t('in the conversation');
    case 'active':
    case 'tail':
      return t('at the end, sent anew');
    case 'L0':
    case 'L1':
      return t('in front, settled');
    default:
      return t('in front, still changing');
  }
}

/** What a tier holds, as a heading. */
export function tierTitle(tier: string): string {
  const titles: Record<string, string> = {
    head: t('Instructions'),
    L0: t('Most stable'),
    L1: t('Stable'),
    L2: t('Settling'),
    L3: t('Recent'),
    active: t('Working files'),
    log: t('Conversation'),
    tail: t('This request only'),
  };
  return Object.hasOwn(titles, tier) ? (titles[tier] ?? tier) : tier;
}

/** What the tier means for the cost. */
export function tierTip(tier: string): string {
  return t(
    'Stands {0} in the request (tier {1}): the further in front, the longer the provider’s cache keeps it.',
    tierWords(tier),
    tier,
  );
}
