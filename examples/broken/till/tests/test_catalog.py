import unittest

from ..catalog import Article, UnknownArticle, find_article, read_catalog

LINES = ["number,name,group,rate\n", "0042,Filter coffee,drink,19\n", '0007,"Cake, apple",cake,7\n']


class ReadCatalog(unittest.TestCase):
    def test_gives_articles_by_number(self) -> None:
        catalog = read_catalog(LINES)
        self.assertEqual(catalog["0042"], Article("0042", "Filter coffee", "drink", 19))
        self.assertEqual(catalog["0007"].name, "Cake, apple")

    def test_each_catalog_stands_alone(self) -> None:
        read_catalog(LINES)
        self.assertEqual(read_catalog(LINES[:1]), {})


class FindArticle(unittest.TestCase):
    def test_finds_by_number(self) -> None:
        self.assertEqual(find_article(read_catalog(LINES), "0042").rate, 19)

    def test_leading_zeros_may_be_missing(self) -> None:
        self.assertEqual(find_article(read_catalog(LINES), "42").name, "Filter coffee")

    def test_an_unknown_number_is_named(self) -> None:
        with self.assertRaises(UnknownArticle) as caught:
            find_article(read_catalog(LINES), "9999")
        self.assertEqual(str(caught.exception), "no article 9999")
