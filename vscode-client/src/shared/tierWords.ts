/** Where something stands in the request, in words: the names of the tiers say it to few. */
import { t } from './l10n';

export function tierWords(tier: string): string {
  switch (tier) {
    case '':
      return '';
    case 'head':
      return t('at the very front');
    case 'log':
      return t('where it came in');
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

/** What that means for the money. */
export function tierTip(tier: string): string {
  return t(
    'Stands {0} in the request (tier {1}): the further in front, the longer the provider’s cache keeps it.',
    tierWords(tier),
    tier,
  );
}
