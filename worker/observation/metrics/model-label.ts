// The label of a model: clients choose the name in a request, so only names of the catalog and the
// profiles are counted by their name (operations.md 7.4; field-lessons.md K5).
import type { CatalogSnapshot } from '../../../shared/catalog/catalog.ts'
import { createModelBound, OTHER_MODEL } from '../../../shared/metrics/limits.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import type { ControlChannel } from '../../control/control-channel.ts'

export type ModelLabel = (model: string) => string

/** Names of the profiles and of the catalog keep their name, the first `namesMax` of them; all others are `other`. */
export function createModelLabel(
  { profiles, control }: { profiles: ProfileSet; control: Pick<ControlChannel, 'catalogSnapshot'> },
  { namesMax }: { namesMax: number }
): ModelLabel {
  const aliases = new Set(profiles.profiles.flatMap(({ models }) => models.map(({ publicAlias }) => publicAlias)))
  const bound = createModelBound(namesMax)
  let snapshot: CatalogSnapshot | undefined
  let listed: ReadonlySet<string> = new Set()

  function isListed(model: string): boolean {
    const current = control.catalogSnapshot()
    if (current !== snapshot) {
      snapshot = current
      listed = new Set(current?.models.map(({ id }) => id))
    }
    return listed.has(model)
  }

  return model => (aliases.has(model) || isListed(model) ? bound(model) : OTHER_MODEL)
}
