"""Questions about one entity: its passage answers every one of them."""

from toolenvs.tasks.seeding import Draws
from toolenvs.world import World
from toolenvs.world.passages import passage
from toolenvs.world.questions import about


def test_the_passage_of_an_entity_answers_every_question_about_it():
    world = World(300, seed=4)
    for key in world.keys():  # noqa: SIM118
        entity = world.entity(key)
        text = passage(world, entity).text
        questions = about(world, key)
        assert [question.facts for question in questions] == [(fact,) for fact in (*entity.links, *entity.figures)]
        for question in questions:
            assert question.answer in text
            assert entity.name in question.text
            assert (question.hops, question.evidence, question.names) == (1, (key.id,), (entity.name,))


def test_a_question_of_one_hop_is_one_of_those_about_its_entity():
    world = World(300, seed=4)
    for number in range(50):
        question = world.question(Draws("about", number), hops=1)
        entity = world.find(question.evidence[0])
        assert question in about(world, entity.key)
