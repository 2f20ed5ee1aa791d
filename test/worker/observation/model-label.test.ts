import t from 'tap'
import type { CatalogSnapshot } from '../../../shared/catalog/catalog.ts'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { createModelLabel } from '../../../worker/observation/metrics/model-label.ts'

const profiles = { profiles: [{ models: [{ publicAlias: 'alias' }] }] } as unknown as ProfileSet
const snapshotOf = (...ids: string[]) => ({ models: ids.map(id => ({ id })) }) as unknown as CatalogSnapshot

t.test(
  'K5: a model keeps its name when a profile or the catalog has it; 10 000 random names are one label',
  async t => {
    let snapshot: CatalogSnapshot | undefined
    const label = createModelLabel({ profiles, control: { catalogSnapshot: () => snapshot } }, { namesMax: 3 })
    t.same(['alias', 'listed'].map(label), ['alias', 'other'], 'before the first discovery')
    snapshot = snapshotOf('listed', 'second', 'third')
    t.same(
      ['listed', 'second', 'third', 'alias'].map(label),
      ['listed', 'second', 'other', 'alias'],
      'at most three names'
    )
    const random = new Set(Array.from({ length: 10_000 }, (_, index) => label(`random-${index}`)))
    t.same([...random], ['other'])
    snapshot = snapshotOf('second')
    t.equal(label('listed'), 'other', 'a model that left the catalog')
  }
)
